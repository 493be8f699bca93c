import type { ScheduledReport, ScheduledReportRun } from '../../../../clients/typescript/src/index.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Count } from '../../parts/amount.tsx'
import { Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { Outcome } from '../reports/outcome.tsx'
import { onClocks, reasonText, utcText } from '../reports/words.ts'
import { RunCharts } from './run-charts.tsx'
import { errorText, lateText, notAgain, whenText } from './runs.ts'
import { useResend } from './use-resend.ts'

/** One slot or test: the window of its file, and each destination with its attempts. It follows what happens. */
export default function RunDrawer({ report, id, onClose }: { report: ScheduledReport; id: string; onClose: () => void }) {
  const input = { path: { report_id: report.id }, query: { limit: 1, 'filter[run_id]': id } }
  const read = useRead('v4ListScheduledReportRuns', input, { topics: ['reports', 'exports'] })
  const [run] = read.data?.data ?? []
  return (
    <Drawer title={run ? whenText(run, report) : t('A run of the report')} onClose={onClose}>
      <DataState
        of={read}
        isEmpty={({ data }) => data.length === 0}
        empty={<Empty icon="clock" title={t('There is no such run')} why={t('Runs are kept for 400 days.')} />}
      >
        {({ data }) => <Run run={data[0]!} report={report} />}
      </DataState>
      <div className="drawer-foot">
        <ShowTheCall name="v4ListScheduledReportRuns" input={input} />
      </div>
    </Drawer>
  )
}

function Run({ run, report }: { run: ScheduledReportRun; report: ScheduledReport }) {
  const { resend, isPending, error } = useResend()
  const denied = useDenied('editor', usePlace()?.project)
  const why = denied ?? notAgain(run)
  const { timezone: zone } = report
  return (
    <>
      <Pairs
        rows={[
          [t('Outcome'), <Outcome key="outcome" run={run} />],
          [t('Why'), reasonText(run.reason)],
          [t('Slot, in UTC'), run.slot === null ? t('a test, no slot') : utcText(run.slot)],
          [
            run.charts === null ? t('Rows of') : t('Days'),
            run.window_from && run.window_to && `${onClocks(run.window_from, zone)} – ${onClocks(run.window_to, zone)}`,
          ],
          [t('Rows'), run.rows === null ? undefined : <Count key="rows" value={run.rows} />],
          [t('Started'), run.started_at && <Time key="started" at={run.started_at} />],
          [t('Late by'), run.slot === null ? undefined : lateText(run.late_by_seconds)],
          [t('Ended'), run.finished_at && <Time key="ended" at={run.finished_at} />],
          [
            t('File'),
            run.export_id === null ? undefined : (
              <To key="file" to="/exports" search={{ at: run.export_id }} className="link">
                {t('its export')}
              </To>
            ),
          ],
          [t('Sent again'), run.resends === 0 ? undefined : counted(run.resends, '{n} time', '{n} times')],
          [t('Id'), <Copy key="id" text={run.id} />],
        ]}
      />
      <RunCharts run={run} zone={zone} />
      {error && <Fault error={error} />}
      <div className="run-to-head">
        <h3>{t('Sent to')}</h3>
        <Act denied={why} size="compact-sm" variant="default" loading={isPending} onClick={() => void resend(run)}>
          {t('Resend to all')}
        </Act>
      </div>
      {run.destinations.length === 0 && <p className="soft">{t('A skipped slot goes nowhere.')}</p>}
      <ul className="run-to">
        {run.destinations.map(one => (
          <li key={one.id}>
            <div className="run-to-head">
              <strong>
                <bdi>{one.label}</bdi>
              </strong>
              <StatusChip status={one.status} />
            </div>
            <p className="soft">
              {counted(one.attempts, '{n} attempt', '{n} attempts')}
              {one.delivered_at && (
                <>
                  , {t('delivered')} <Time at={one.delivered_at} />
                </>
              )}
              {one.reason && <>, {reasonText(one.reason) ?? plain(one.reason)}</>}
            </p>
            {one.error && <p className="report-error">{errorText(one.error)}</p>}
            {one.next_attempt_at && (
              <p>
                {t('Next attempt')} <Time at={one.next_attempt_at} relative />
              </p>
            )}
            {run.destinations.length > 1 && why === undefined && (
              <button type="button" className="chip small" disabled={isPending} onClick={() => void resend(run, one.id)}>
                {t('Resend to this one')}
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}
