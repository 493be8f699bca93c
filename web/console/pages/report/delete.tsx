import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { useWrite } from '../../data/write.ts'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'

/** Deletes the report: with what the service says that it would do, and the id typed. */
export default function Delete({ report, onClose }: { report: ScheduledReport; onClose: () => void }) {
  const go = useGo()
  const [typed, setTyped] = useState('')
  const input = { path: { report_id: report.id } }
  const plan = useDryRun('v4DeleteScheduledReport', input)
  const { send, isPending, error } = useWrite('v4DeleteScheduledReport', { changes: ['v4ListScheduledReports'] })
  const remove = async () => {
    if (typed !== report.id) return
    try {
      await send(input)
      say(t('The report is deleted'))
      go({ to: '/reports' })
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <Drawer title={t('Delete this report')} onClose={onClose}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void remove()
        }}
      >
        <p>
          {t(
            'This cannot be undone. There are no further slots, what is under way ends as withheld, and the history can no longer be seen; the ledger keeps it.',
          )}
        </p>
        <p className="soft">{t('To stop it for a while, pause it.')}</p>
        <DataState of={plan} rows={2}>
          {({ changes }) => (
            <div>
              <p className="form-label">
                {counted(changes.length, 'The service would change {n} thing', 'The service would change {n} things')}
              </p>
              <ul className="delete-plan">
                {changes.map(({ action, object, id }) => (
                  <li key={`${action} ${object} ${id}`}>
                    {plain(action)} {plain(object).toLowerCase()} <code>{id}</code>
                  </li>
                ))}
              </ul>
            </div>
          )}
        </DataState>
        <div>
          <p className="form-label">{t('Type the id to delete it')}</p>
          <Copy text={report.id} />
        </div>
        <TextInput
          aria-label={t('Id of the report')}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name="v4DeleteScheduledReport" input={input} />
          <Send size="xs" className="button-danger" loading={isPending} disabled={typed !== report.id || plan.data === undefined}>
            {t('Delete for good')}
          </Send>
        </div>
      </form>
    </Drawer>
  )
}
