import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { usePreferences } from '../../data/session.ts'
import { moment, span } from '../../parts/format.ts'
import { counted, t } from '../../parts/t.ts'
import { useTick } from '../../parts/time.tsx'

/** Behind by more than this, the figures say so. */
const LATE_SECONDS = 60

/** Up to which moment the figures count, and what they do not count yet. */
export function Freshness({ charts }: { charts: readonly (AnalyticsChart | undefined)[] }) {
  useTick()
  const { zone } = usePreferences()
  const read = charts.filter(chart => chart !== undefined)
  if (read.length === 0) return <span className="fresh unknown" />
  const asOf = Math.min(...read.map(chart => chart.as_of))
  const waiting = Math.max(0, ...read.map(chart => chart.behind ?? 0))
  const seconds = Date.now() / 1000 - asOf
  const late = waiting > 0 || seconds > LATE_SECONDS * 3
  return (
    <span className={`fresh ${late ? 'late' : ''}`} title={`${moment(asOf, zone)} ${zone}`}>
      <i aria-hidden="true" />
      {waiting > 0
        ? counted(waiting, '{n} person has changes that are not counted yet', '{n} people have changes that are not counted yet')
        : late
          ? t('The figures are {span} old', { span: span(seconds * 1000) })
          : t('Everything up to {time} counts', { time: moment(asOf, zone).split(', ')[1] ?? '' })}
    </span>
  )
}
