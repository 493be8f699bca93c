import '../reports/reports.css'
import './report.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePages, useRead } from '../../data/read.ts'
import { DataState } from '../../parts/data-state.tsx'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { scheduleText, statusOf } from '../reports/words.ts'
import { Actions } from './actions.tsx'
import { Cells } from './cells.tsx'
import { History } from './history.tsx'
import { Next } from './next.tsx'
import { Schedule } from './schedule.tsx'
import { Trouble } from './trouble.tsx'

const ReportForm = lazy(() => import('../reports/form.tsx'))
const RunDrawer = lazy(() => import('./run-drawer.tsx'))
const Delete = lazy(() => import('./delete.tsx'))

const SHOWN = 60

/** One report: each slot and what became of it, the next five, and the schedule behind them. */
export default function Report() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search, set] = useAddress()
  const read = useRead('v4GetScheduledReport', { path: { report_id: id } }, { topics: ['reports'] })
  const input = { path: { report_id: id }, query: { limit: SHOWN } }
  const runs = usePages('v4ListScheduledReportRuns', input, { topics: ['reports'], when: read.data !== undefined })
  const close = () => set({ at: undefined })
  const report = read.data
  return (
    <Page
      wide
      title={report?.report_name ?? t('Report')}
      about={
        <span className="report-about">
          <To to="/reports" className="link">
            {t('Reports')}
          </To>
          {report && (
            <>
              <StatusChip {...statusOf(report)} />
              <span>
                {scheduleText(report)}, {report.timezone}
              </span>
            </>
          )}
        </span>
      }
      actions={report && <Actions report={report} />}
    >
      {read.error?.status === 404 ? (
        <NotHere icon="mail" title={t('No such report')} to="/reports" all={t('All reports')} />
      ) : (
        <DataState of={read} rows={10}>
          {shown => (
            <>
              <Trouble report={shown} />
              <div className="grid two start">
                <div className="grid">
                  <Cells report={shown} runs={runs} />
                  <History report={shown} runs={runs} />
                </div>
                <div className="grid">
                  <Next report={shown} />
                  <Schedule report={shown} />
                </div>
              </div>
            </>
          )}
        </DataState>
      )}
      <Suspense fallback={null}>{report && <Over report={report} at={search.at} onClose={close} />}</Suspense>
    </Page>
  )
}

function Over({ report, at, onClose }: { report: ScheduledReport; at: string | undefined; onClose: () => void }) {
  if (at === undefined) return null
  if (at === 'edit') return <ReportForm report={report} onDone={onClose} onClose={onClose} />
  if (at === 'delete') return <Delete report={report} onClose={onClose} />
  return <RunDrawer key={at} report={report} id={at} onClose={onClose} />
}
