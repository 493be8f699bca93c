import { Button, Modal, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { Copy } from '../../parts/copy.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'

const GOES = [
  'users and customers, their purchases, access and events',
  'runs, deliveries, runs of reports, exports with their files',
  'figures, and what the ledger has counted',
]

/** Empties the sandbox and sets its clock back; after the id of the project is typed. */
export default function Reset({ onClose }: { onClose: () => void }) {
  const place = usePlace()
  const project = place?.project ?? ''
  const client = useQueryClient()
  const denied = useDenied('editor', project)
  const [typed, setTyped] = useState('')
  const { send, isPending, error } = useWrite('v4ResetTestClock', { changes: ['v4GetTestClock', 'v4ListTestClockDue'] })
  const empty = async () => {
    await send({})
    // What was loaded is gone, and the clock has come to nothing.
    for (const what of ['sample', 'advance']) await client.resetQueries({ queryKey: [what, place] })
    onClose()
  }
  const matches = typed.trim() === project && denied === undefined
  return (
    <Modal opened onClose={onClose} title={t('Empty the sandbox')} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          if (matches) void empty().catch(() => {})
        }}
      >
        <p>{t('The clock shows real time again. This cannot be undone; with it go:')}</p>
        <ul className="reset-goes">
          {GOES.map(text => (
            <li key={text}>{t(text)}</li>
          ))}
        </ul>
        <p className="soft">
          {t(
            'What you have set up stays: products, automations, integrations, reports, segments, screens, keys and the audit log. Production is not touched.',
          )}
        </p>
        <div>
          <p className="form-label">{t('Type the id of the project to empty its sandbox')}</p>
          <Copy text={project} />
        </div>
        <TextInput
          aria-label={t('Id of the project')}
          value={typed}
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        {denied && <p className="soft">{denied}</p>}
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name="v4ResetTestClock" />
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" className="button-danger" loading={isPending} disabled={!matches}>
            {t('Empty the sandbox')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
