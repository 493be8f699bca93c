import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { scheduleText, TYPES } from '../reports/words.ts'

const MISSED: Record<ScheduledReport['missed'], string> = { once: 'the latest is sent', all: 'all are sent', skip: 'none is sent' }

/** The schedule in words. */
export const Schedule = ({ report }: { report: ScheduledReport }) => (
  <Card title={t('Schedule')}>
    <Pairs
      rows={[
        [t('When'), scheduleText(report)],
        [t('On the clocks of'), report.timezone],
        [t('A file has'), counted(report.included_range_days, '{n} day', '{n} days')],
        [t('Rows'), t(TYPES[report.type])],
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
