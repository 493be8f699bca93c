import { TextInput } from '@mantine/core'
import { useKeptDraft } from '../../data/kept-draft.ts'
import { useWrite } from '../../data/write.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { KeptNotice } from '../../parts/kept-notice.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'

/** Makes an empty draft. */
export default function NewScreen({ denied, onClose }: { denied: string | undefined; onClose: () => void }) {
  const go = useGo()
  const { draft, type, isOld, discard, done } = useKeptDraft('new screen', undefined, () => ({ name: '' }))
  const { send, isPending, error } = useWrite('v4CreateScreen', { changes: ['v4ListScreens'] })
  const body = { name: draft.name.trim() }
  const make = async () => {
    if (body.name === '' || denied !== undefined) return
    const made = await send({ body })
    done()
    say(t('The draft is made'))
    go({ to: `/screens/${encodeURIComponent(made.id)}` })
  }
  return (
    <Drawer title={t('New screen')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          // It is shown as `error`.
          void make().catch(() => {})
        }}
      >
        {isOld && <KeptNotice onDiscard={discard} />}
        <p>{t('This makes an empty draft. No app shows it before it is published.')}</p>
        <TextInput
          label={t('Name')}
          required
          maxLength={256}
          data-autofocus
          value={draft.name}
          onChange={({ currentTarget }) => type({ name: currentTarget.value })}
        />
        <p className="soft">
          {t('Its layout comes from an editor of screens: a file that has this id replaces the draft.')}{' '}
          <code>npm run cli -- screens import FILE.json</code>
        </p>
        {error && <Fault error={error} />}
        {denied && <p className="soft">{denied}</p>}
        <div className="form-actions">
          <ShowTheCall name="v4CreateScreen" input={{ body }} />
          <Send size="xs" loading={isPending} disabled={body.name === '' || denied !== undefined}>
            {t('Make the draft')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
