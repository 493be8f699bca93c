import type { ScheduledReportRun } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

/** Sends the stored file of a run again, byte for byte: to all of its destinations, or to one. */
export function useResend() {
  const { send, isPending, error } = useWrite('v4ResendScheduledReportRun', {
    changes: ['v4ListScheduledReportRuns', 'v4GetScheduledReport', 'v4ListScheduledReports'],
  })
  const resend = async (run: ScheduledReportRun, destination?: string) => {
    try {
      const input = { path: { run_id: run.id } }
      const answer = await send(destination === undefined ? input : { ...input, body: { destination_ids: [destination] } })
      if (answer !== undefined) say(t('The stored file is on its way again'))
    } catch {
      // It is shown as `error`.
    }
  }
  return { resend, isPending, error }
}
