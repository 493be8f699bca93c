import type { ScheduledReportRun } from '../../../../clients/typescript/src/index.ts'
import { isGood } from '../../data/charts.ts'
import { Delta, Figure } from '../../parts/amount.tsx'
import { searchOfChart } from '../../parts/asked-chart.ts'
import { bucket, figure } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

type Chart = NonNullable<ScheduledReportRun['charts']>[number]
const second = (time: string) => String(Date.parse(time) / 1_000)

/** What a run of charts said: each total with its change, and the same window in the console, where it may have become another one since. */
export function RunCharts({ run, zone }: { run: ScheduledReportRun; zone: string }) {
  const { charts, as_of, window_from, window_to } = run
  if (charts === null || window_from === null || window_to === null) return null
  const window = { from: second(window_from), to: second(window_to), tz: zone }
  return (
    <>
      <div className="run-to-head">
        <h3>{t('What it shows')}</h3>
      </div>
      <ul className="run-charts">
        {charts.map((chart, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a chart may stand there twice
          <li key={at}>
            <div className="run-to-head">
              <strong>
                <bdi>{chart.title}</bdi>
              </strong>
              <To
                to={`/charts/${encodeURIComponent(chart.code)}`}
                search={{ ...searchOfChart({ query: chart.query as Record<string, string> }), ...window, unit: chart.unit }}
                className="link"
                aria-label={t('Open {chart}', { chart: chart.title })}
              >
                {t('Open')}
              </To>
            </div>
            <Total chart={chart} zone={zone} />
          </li>
        ))}
      </ul>
      {as_of && (
        <p className="soft run-charts-note">
          {t('Everything recorded before')} <Time at={as_of} /> {t('counts, also when it is sent again.')}
        </p>
      )}
    </>
  )
}

function Total({ chart, zone }: { chart: Chart; zone: string }) {
  const { code, measure, currency, total, total_previous, complete_until, still_moving, series } = chart
  if (total === null || total_previous === null)
    return <p>{series.map(one => `${one.label} ${figure(one.total, measure, currency)}`).join(', ')}</p>
  return (
    <p className="run-chart-total">
      <Figure value={total} measure={measure} currency={currency} />{' '}
      <Delta now={total} before={total_previous} good={isGood(code)} moving={still_moving} />{' '}
      {total_previous !== 0 && (
        <span className="soft">{t('against {previous}', { previous: figure(total_previous, measure, currency) })}</span>
      )}
      {complete_until && (
        <span className="soft">
          {' '}
          {t('counts what began until {day}', { day: bucket(Date.parse(complete_until) / 1_000 - 1, 'day', zone, true) })}
        </span>
      )}
    </p>
  )
}
