import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { AutomationRunDetail } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { useWrite } from '../../data/write.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { plain, t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

const LETTERS = 4

/** Ends the run for good, after what goes with it is shown and the end of its id is typed. */
export default function Cancel({ run, onClose }: { run: AutomationRunDetail; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const input = { path: { run_id: run.id } }
  const plan = useDryRun('v4CancelAutomationRun', input)
  const { send, isPending, error } = useWrite('v4CancelAutomationRun', { changes: ['v4GetAutomationRun', 'v4ListAllAutomationRuns'] })
  const end = run.id.slice(-LETTERS)
  const cancel = async () => {
    if (typed !== end) return
    try {
      await send(input)
      say(t('The run is cancelled'))
      onClose()
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <Drawer title={t('Cancel this run')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void cancel()
        }}
      >
        <p>{t('It ends where it is: no further step is done, and what its webhook still had to deliver is not sent.')}</p>
        <p className="soft">{t('This cannot be undone, but the run can be run again. An effect that is under way may still arrive.')}</p>
        <DataState of={plan} rows={1}>
          {({ changes }) => (
            <div>
              <p className="form-label">{t('The service would')}</p>
              <ul>
                {changes.map(({ action, object, id }) => (
                  <li key={`${action} ${object} ${id}`}>
                    {plain(action)} {plain(object).toLowerCase()} <code>{id}</code>
                  </li>
                ))}
              </ul>
            </div>
          )}
        </DataState>
        <TextInput
          label={t('Type the last four letters of its id, {end}', { end })}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name="v4CancelAutomationRun" input={input} />
          <Send size="xs" className="button-danger" loading={isPending} disabled={typed !== end}>
            {t('Cancel the run')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
