import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { t } from '../../parts/t.ts'
import { NextSlots } from '../reports/next-slots.tsx'
import { statusOf } from '../reports/words.ts'

/** The next five slots, as workers will take them. */
export function Next({ report }: { report: ScheduledReport }) {
  const input = { path: { report_id: report.id }, query: { limit: 5 } }
  const read = useRead('v4ListScheduledReportSlots', input, { topics: ['reports'], every: 30_000 })
  return (
    <Card title={t('Next five')} right={report.timezone}>
      {report.status === 'draft' && (
        <p className="next-none soft">
          {statusOf(report).status === 'draft'
            ? t('A draft has no slots. These are the first ones if it becomes active now:')
            : t('A paused report has no slots. These are the next ones if it becomes active now:')}
        </p>
      )}
      <DataState of={read} rows={5}>
        {({ data }) => <NextSlots slots={data} schedule={report} />}
      </DataState>
    </Card>
  )
}
