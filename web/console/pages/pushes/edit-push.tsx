import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Push } from '../../../../clients/typescript/src/index.ts'
import { useKeptDraft } from '../../data/kept-draft.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { KeptNotice } from '../../parts/kept-notice.tsx'
import { type Difference, differences, Newer, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { bodyOf, draftOf, FIELDS, inWords, isReady } from './draft.ts'
import { Fields } from './fields.tsx'
import { Notifications } from './notification.tsx'
import { useAppName } from './use-app-name.ts'

/** Replaces the template as a whole: over the version that was read, and over a newer one only after it was shown. */
export default function EditPush({ push, denied, onDone }: { push: Push; denied: string | undefined; onDone: () => void }) {
  const app = useAppName()
  const path = { push_id: push.id }
  const { draft, base, isOld, type, rebase, take, discard, done } = useKeptDraft(`push ${push.id}`, push, draftOf)
  const [newer, setNewer] = useState<{ push: Push; found: Difference[] }>()
  const [failed, setFailed] = useState<unknown>()
  const { send, isPending, error } = useWrite('v4UpdatePush', { changes: ['v4GetPush', 'v4ListPushes'] })
  const look = useLook('v4GetPush', { path })
  const body = bodyOf(draft)
  const ready = isReady(draft) && denied === undefined
  const save = useOne(async () => {
    setFailed(undefined)
    const now = await look()
    const found = differences(inWords(base), inWords(now), FIELDS)
    if (now.updated_at !== base.updated_at || found.length > 0) {
      rebase(now)
      return setNewer({ push: now, found })
    }
    await send({ path, body })
    done()
    say(t('The push is saved'))
    onDone()
  })
  const cancel = () => {
    done()
    onDone()
  }
  return (
    <form
      className="form"
      onSubmit={event => {
        event.preventDefault()
        if (ready) void save().catch(setFailed)
      }}
    >
      {isOld && (
        <KeptNotice
          onDiscard={() => {
            discard()
            setNewer(undefined)
          }}
        />
      )}
      <Notifications of={body} app={app} />
      <Fields draft={draft} error={error} onType={type} />
      <p className="push-hint">{t('Later sends use it, also those of runs under way.')}</p>
      {newer && (
        <Newer
          found={newer.found}
          onTake={() => {
            take(newer.push)
            setNewer(undefined)
          }}
        />
      )}
      {failed !== undefined && <Fault error={failed} />}
      {denied && <p className="soft">{denied}</p>}
      <div className="form-actions">
        <ShowTheCall name="v4UpdatePush" input={{ path, body }} />
        <Button variant="default" size="xs" onClick={cancel}>
          {t('Cancel')}
        </Button>
        <Send size="xs" loading={isPending} disabled={!ready}>
          {newer ? t('Save mine') : t('Save')}
        </Send>
      </div>
    </form>
  )
}
