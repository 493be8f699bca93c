import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Screen } from '../../../../clients/typescript/src/index.ts'
import { useKeptDraft } from '../../data/kept-draft.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { KeptNotice } from '../../parts/kept-notice.tsx'
import { type Difference, differences, Newer, useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'

type Named = { name: string; updated_at: string }
const FIELDS = { name: t('Name') }

/** Gives the screen another name, which is all that the service lets change here. */
export default function Rename({ screen, denied, onClose }: { screen: Screen; denied: string | undefined; onClose: () => void }) {
  const path = { screen_id: screen.id }
  const first: Named = { name: screen.name, updated_at: screen.updated_at }
  const { draft, base, isOld, type, rebase, take, discard, done } = useKeptDraft(`rename ${screen.id}`, first, ({ name }: Named) => ({
    name,
  }))
  const [newer, setNewer] = useState<{ now: Named; found: Difference[] }>()
  const [failed, setFailed] = useState<unknown>()
  const { send, isPending } = useWrite('v4UpdateScreen', { changes: ['v4GetScreen', 'v4ListScreens'] })
  const look = useLook('v4GetScreen', { path, query: { render: false } })
  const body = { name: draft.name.trim() }
  const save = useOne(async () => {
    setFailed(undefined)
    const now = await look()
    if (now.name !== base.name) {
      rebase(now)
      return setNewer({ now, found: differences(base, now, FIELDS) })
    }
    await send({ path, body })
    done()
    const back = async () => {
      // Somebody may have given it a third name by then, which stays.
      if ((await look()).name !== body.name) throw new Error(t('it has another name by now'))
      await send({ path, body: { name: now.name } })
    }
    if (now.name === body.name) say(t('It has this name'))
    else sayWithUndo(t('The screen is renamed'), back)
    onClose()
  })
  const ready = body.name !== '' && denied === undefined
  return (
    <Drawer title={t('Rename the screen')} onClose={onClose}>
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
        <TextInput
          label={t('Name')}
          required
          maxLength={256}
          value={draft.name}
          onChange={({ currentTarget }) => type({ name: currentTarget.value })}
        />
        <p className="soft">{t('Apps do not see the name. The layout is changed by a file of the editor.')}</p>
        {newer && (
          <Newer
            found={newer.found}
            onTake={() => {
              take(newer.now)
              setNewer(undefined)
            }}
          />
        )}
        {failed !== undefined && <Fault error={failed} />}
        {denied && <p className="soft">{denied}</p>}
        <div className="form-actions">
          <ShowTheCall name="v4UpdateScreen" input={{ path, body }} />
          <Send size="xs" loading={isPending} disabled={!ready}>
            {newer ? t('Save mine') : t('Save')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
