import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { titleOfChart } from '../../data/charts.ts'
import { useRead } from '../../data/read.ts'
import { type AskedChart, filterTexts } from '../../parts/asked-chart.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { scheduleText, TYPES } from '../reports/words.ts'

const MISSED: Record<ScheduledReport['missed'], string> = { once: 'the latest is sent', all: 'all are sent', skip: 'none is sent' }

/** The charts with their settings, or the view that they follow. */
function Shown({ report: { charts, view_id } }: { report: ScheduledReport }) {
  const view = useRead('v4GetAnalyticsView', { path: { view_id: view_id ?? '' } }, { when: view_id !== null })
  if (view_id !== null) {
    if (view.error?.status === 404) return t('a view that is deleted, as it was last asked')
    return (
      <>
        {t('the view')} <bdi>{view.data?.name ?? view_id}</bdi>
      </>
    )
  }
  return (
    <span className="sent-to">
      {charts.map((chart, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a chart may stand there twice
        <bdi key={at}>{[titleOfChart(chart.code), splitText(chart), ...filterTexts(chart)].filter(Boolean).join(', ')}</bdi>
      ))}
    </span>
  )
}

const splitText = ({ query }: AskedChart) =>
  query?.segmentation && t('by {what}', { what: plain(String(query.segmentation)).toLowerCase() })

/** The schedule in words. */
export const Schedule = ({ report }: { report: ScheduledReport }) => (
  <Card title={t('Schedule')}>
    <Pairs
      rows={[
        [t('When'), scheduleText(report)],
        [t('On the clocks of'), report.timezone],
        [t('A file has'), counted(report.included_range_days, '{n} day', '{n} days')],
        [t('Of'), t(TYPES[report.type])],
        [t('Shows'), report.type === 'charts' ? <Shown key="shows" report={report} /> : undefined],
        [t('Format'), [report.format, ...report.include].join(', ')],
        [t('Guard against formulas'), report.formula_guard ? t('yes') : t('no')],
        [t('Missed slots'), t(MISSED[report.missed])],
        [t('Clocks skip the time'), report.on_dst_gap === 'shift' ? t('sent later') : t('skipped')],
        [t('Clocks show it twice'), report.on_dst_overlap === 'first' ? t('sent at the first') : t('sent at both')],
        [
          t('To'),
          <span key="to" className="sent-to">
            {report.destinations.map(({ id, label }) => (
              <bdi key={id}>{label}</bdi>
            ))}
          </span>,
        ],
        [t('Made'), <Time key="made" at={report.created_at} />],
        [t('Changed'), <Time key="changed" at={report.updated_at} />],
        [t('Id'), <Copy key="id" text={report.id} />],
      ]}
    />
  </Card>
)
