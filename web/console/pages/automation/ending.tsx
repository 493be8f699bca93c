import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { plain, t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { CHANGES } from './use-status.ts'

const TEXTS = {
  delete: {
    title: 'Delete this automation',
    what: 'This cannot be undone. With the automation go:',
    goes: [
      'its steps and rules; versions stay until no run goes by them',
      'all runs under way: they are cancelled, and what waits to be sent for them is never sent',
      'how often it has run for each person, which its frequency counts',
    ],
    stays: 'Runs that have ended stay readable for 90 days. What is being sent at this moment may still arrive.',
    act: 'Delete for good',
    done: 'The automation is deleted',
  },
  inactive: {
    title: 'Set it inactive',
    what: 'The runs that this ends cannot be taken up again:',
    goes: [
      'all runs under way are cancelled, and what waits to be sent for them is never sent',
      'events start nothing from now on, and none is recorded here',
    ],
    stays: 'To hold the runs and go on later, pause it instead.',
    act: 'Set inactive',
    done: 'The automation is inactive',
  },
} as const

/** Ends runs for good: what goes with it, what the service says it would do, and the id typed. */
export function Ending({ how, automation, onClose }: { how: 'delete' | 'inactive'; automation: Automation; onClose: () => void }) {
  const go = useGo()
  const denied = useDenied('editor', usePlace()?.project)
  const [typed, setTyped] = useState('')
  const { id } = automation
  const path = { automation_id: id }
  const stopped = { path, body: { status: 'inactive' as const } }
  const deletePlan = useDryRun('v4DeleteAutomation', { path }, { when: how === 'delete' && denied === undefined })
  const stopPlan = useDryRun('v4UpdateAutomationStatus', stopped, { when: how === 'inactive' && denied === undefined })
  const deleting = useWrite('v4DeleteAutomation', { changes: ['v4ListAutomations'] })
  const stopping = useWrite('v4UpdateAutomationStatus', CHANGES)
  const [plan, write] = how === 'delete' ? [deletePlan, deleting] : [stopPlan, stopping]
  const text = TEXTS[how]
  const end = async () => {
    if (typed !== id) return
    try {
      await (how === 'delete' ? deleting.send({ path }) : stopping.send(stopped))
    } catch {
      // It is shown as `error`.
      return
    }
    say(t(text.done))
    if (how === 'delete') go({ to: '/automations' })
    else onClose()
  }
  return (
    <Drawer title={t(text.title)} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void end()
        }}
      >
        <p>{t(text.what)}</p>
        <ul className="ending-goes">
          {text.goes.map(one => (
            <li key={one}>{t(one)}</li>
          ))}
        </ul>
        <p className="soft">{t(text.stays)}</p>
        {denied === undefined && (
          <DataState of={plan} rows={2}>
            {({ changes }) => (
              <div>
                <p className="form-label">{t('The service would')}</p>
                <ul className="ending-goes">
                  {changes.map(({ action, object, id: what }) => (
                    <li key={`${action} ${object} ${what}`}>
                      {plain(action)} {plain(object).toLowerCase()} <code>{what}</code>
                    </li>
                  ))}
                </ul>
              </div>
            )}
          </DataState>
        )}
        <div>
          <p className="form-label">{t('Type the id of the automation')}</p>
          <Copy text={id} />
        </div>
        <TextInput
          aria-label={t('Id of the automation')}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
        {write.error && <Fault error={write.error} />}
        {denied && <p className="soft">{denied}</p>}
        <div className="form-actions">
          {how === 'delete' ? (
            <ShowTheCall name="v4DeleteAutomation" input={{ path }} />
          ) : (
            <ShowTheCall name="v4UpdateAutomationStatus" input={stopped} />
          )}
          <Send
            size="xs"
            className="button-danger"
            loading={write.isPending}
            disabled={typed !== id || plan.data === undefined || denied !== undefined}
          >
            {t(text.act)}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
