import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { useKeys } from '../../parts/keys.ts'
import { useLook } from '../../parts/meanwhile.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say, sayWithUndo } from '../../parts/undo.tsx'
import { bodyOf, draftOf } from '../reports/draft.ts'

/** What one can do with the report as a whole. */
export function Actions({ report }: { report: ScheduledReport }) {
  const [, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const open = (at: string) => set({ at }, { push: true })
  const input = { path: { report_id: report.id } }
  const changing = useWrite('v4UpdateScheduledReport', {
    changes: ['v4GetScheduledReport', 'v4ListScheduledReports', 'v4ListScheduledReportSlots', 'v4ListScheduledReportRuns'],
  })
  const look = useLook('v4GetScheduledReport', input)
  // The whole report is stored: with what it is by then, not with what this page has read, or had when it was paused.
  const become = async (status: ScheduledReport['status']) => {
    const now = await look()
    return changing.send({ ...input, body: { ...bodyOf(draftOf(now), now.environment), status } })
  }
  const isActive = report.status === 'active'
  const turn = useOne(() =>
    become(isActive ? 'draft' : 'active').then(
      () => sayWithUndo(isActive ? t('The report is paused') : t('The report is active'), () => become(report.status)),
      (error: Error) => say(error.message),
    ),
  )
  const test = useWrite('v4SendTestScheduledReport', { changes: ['v4ListScheduledReportRuns'] })
  const sendTest = () =>
    void test.send(input).then(
      answer => {
        if (answer === undefined) return
        say(t('A test is on its way'))
        open(answer.run_id)
      },
      (error: Error) => say(error.message),
    )
  useKeys(denied === undefined ? { e: { says: t('Edit the report'), run: () => open('edit') } } : {})
  return (
    <>
      <ShowTheCall name="v4GetScheduledReport" input={input} />
      <Act denied={denied} size="xs" variant="default" loading={test.isPending} onClick={sendTest}>
        {t('Send a test')}
      </Act>
      <Act denied={denied} size="xs" variant="default" loading={changing.isPending} onClick={() => void turn()}>
        {isActive ? t('Pause') : t('Activate')}
      </Act>
      <Act denied={denied} size="xs" variant="default" onClick={() => open('delete')}>
        {t('Delete')}
      </Act>
      <Act denied={denied} size="xs" onClick={() => open('edit')}>
        {t('Edit')}
      </Act>
    </>
  )
}
