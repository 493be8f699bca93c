import { Button, Checkbox, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { AnalyticsViewInput } from '../../../clients/typescript/src/index.ts'
import type { Range } from '../data/range.ts'
import { viewRange } from '../data/views.ts'
import { useWrite } from '../data/write.ts'
import { Fault } from './fault.tsx'
import { Send } from './send.tsx'
import { t } from './t.ts'
import { sayWithUndo } from './undo.tsx'

type Asked = Pick<AnalyticsViewInput, 'kind' | 'code' | 'query'> & { range: Range; name: string }

/** Keeps what the page asks under a name. The figures are computed anew each time. */
export default function SaveView({ asked, onClose }: { asked: Asked; onClose: () => void }) {
  const [name, setName] = useState(asked.name)
  const [pinned, setPinned] = useState(true)
  const changes = ['v4ListAnalyticsViews'] as const
  const { send, isPending, error } = useWrite('v4CreateAnalyticsView', { changes })
  const { send: remove } = useWrite('v4DeleteAnalyticsView', { changes })
  const save = async () => {
    const { kind, code, query, range } = asked
    const made = await send({
      body: { name: name.trim(), kind, ...(code && { code }), query, range: viewRange(range), pinned } as AnalyticsViewInput,
    })
    if (made === undefined) return
    onClose()
    sayWithUndo(t('Saved as {name}; it is under Charts', { name: made.name }), () => remove({ path: { view_id: made.id } }))
  }
  return (
    <Modal opened onClose={onClose} title={t('Save this view')} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void save().catch(() => {})
        }}
      >
        <TextInput
          label={t('Name')}
          required
          maxLength={200}
          data-autofocus
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Checkbox
          label={t('Pinned: first in the list')}
          checked={pinned}
          onChange={({ currentTarget }) => setPinned(currentTarget.checked)}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <Button variant="default" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send loading={isPending} disabled={name.trim() === ''}>
            {t('Save')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
