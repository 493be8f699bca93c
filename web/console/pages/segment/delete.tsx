import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Segment } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { Copy } from '../../parts/copy.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { HeldBy, isHeld, UsedBy } from '../../parts/used-by.tsx'

/** Deletes the segment for good, or says what keeps it. */
export default function Delete({ segment, onClose }: { segment: Segment; onClose: () => void }) {
  const { id, listed, used_by = [] } = segment
  const go = useGo()
  const [typed, setTyped] = useState('')
  const input = { path: { segment_id: id } }
  const { send, isPending, error } = useWrite('v4DeleteSegment', { changes: ['v4ListSegments', 'v4GetSegment'] })
  const remove = async () => {
    if (typed !== id) return
    try {
      await send(input)
      say(t('The segment is deleted'))
      go({ to: '/segments' })
    } catch {
      // It is shown as `error`.
    }
  }
  if (isHeld(segment))
    return (
      <Drawer title={t('This segment is in use')} onClose={onClose}>
        <div className="form">
          <p>{t('It cannot be deleted while something active goes by it.')}</p>
          <HeldBy of={segment} />
        </div>
      </Drawer>
    )
  return (
    <Drawer title={t('Delete this segment')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void remove()
        }}
      >
        <p>
          {t('This cannot be undone. The people stay; the conditions go')}
          {listed === null ? '.' : `, ${counted(listed, 'and the list of {n} person.', 'and the list of {n} people.')}`}
        </p>
        {used_by.length > 0 && (
          <div>
            <p>{t('What else names it stays, and is for nobody from then on where it does:')}</p>
            <UsedBy of={segment} none="" />
          </div>
        )}
        <div>
          <p className="form-label">{t('Type the id to delete it')}</p>
          <Copy text={id} />
        </div>
        <TextInput
          aria-label={t('Id of the segment')}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name="v4DeleteSegment" input={input} />
          <Send size="xs" className="button-danger" loading={isPending} disabled={typed !== id}>
            {t('Delete for good')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
