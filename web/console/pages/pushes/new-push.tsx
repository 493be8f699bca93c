import { useAddress } from '../../data/address.ts'
import { useKeptDraft } from '../../data/kept-draft.ts'
import { useWrite } from '../../data/write.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { KeptNotice } from '../../parts/kept-notice.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { bodyOf, isReady, NEW } from './draft.ts'
import { Fields } from './fields.tsx'
import { Notifications } from './notification.tsx'
import { useAppName } from './use-app-name.ts'

/** Makes a push; its picture changes while one types. */
export default function NewPush({ denied, onClose }: { denied: string | undefined; onClose: () => void }) {
  const [, set] = useAddress()
  const app = useAppName()
  const { draft, type, isOld, discard, done } = useKeptDraft('new push', NEW, base => base)
  const { send, isPending, error } = useWrite('v4CreatePush', { changes: ['v4ListPushes'] })
  const body = bodyOf(draft)
  const ready = isReady(draft) && denied === undefined
  const make = async () => {
    const made = await send({ body })
    done()
    say(t('The push is made'))
    set({ at: made.id })
  }
  return (
    <Drawer title={t('New push')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          // It is shown as `error`.
          if (ready) void make().catch(() => {})
        }}
      >
        {isOld && <KeptNotice onDiscard={discard} />}
        <Notifications of={body} app={app} />
        <Fields draft={draft} error={error} onType={type} />
        {error && <Fault error={error} />}
        {denied && <p className="soft">{denied}</p>}
        <div className="form-actions">
          <ShowTheCall name="v4CreatePush" input={{ body }} />
          <Send size="xs" loading={isPending} disabled={!ready}>
            {t('Make the push')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
