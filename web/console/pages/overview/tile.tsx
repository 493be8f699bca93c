import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { Spark } from '../../chart/spark.tsx'
import type { Search } from '../../data/address.ts'
import { isGood, titleOfChart } from '../../data/charts.ts'
import { usePreferences } from '../../data/session.ts'
import { Delta, Figure } from '../../parts/amount.tsx'
import { bucket } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { figuresOf } from './tiles.ts'

type Props = {
  code: string
  /** Undefined while it is not there. */
  chart: AnalyticsChart | undefined
  /** What of the address its chart shall have, too. */
  search: Search
  failed: boolean
  /** What is shown is of another range or currency, until the new one is there. */
  stale: boolean
}

/** One figure with its change and its course. It leads to its chart, over the same range. */
export function Tile({ code, chart, search, failed, stale }: Props) {
  const title = titleOfChart(code)
  const { zone } = usePreferences()
  const figures = chart && figuresOf(chart)
  const measure = chart?.measure
  return (
    <To to={`/charts/${code}`} search={search} className="card tile">
      <span className="tile-name">
        {title}
        {figures?.until !== undefined && (
          <span className="tile-until">{t('until {day}', { day: bucket(figures.until - 1, 'day', zone) })}</span>
        )}
      </span>
      {chart && figures && measure ? (
        <div className={stale ? 'tile-body stale' : 'tile-body'}>
          <span className="tile-value">
            <Figure value={figures.now} measure={measure} currency={chart.currency} short />
          </span>
          <span className="tile-change">
            <Delta now={figures.now} before={figures.before} good={isGood(code)} moving={figures.moving} />
            {figures.before !== 0 && (
              <span className="tile-before">
                {t('was')} <Figure value={figures.before} measure={measure} currency={chart.currency} short />
              </span>
            )}
          </span>
          <Spark values={figures.values} previous={figures.previous} open={figures.open} level={figures.level} />
        </div>
      ) : (
        <NotYet failed={failed} />
      )}
    </To>
  )
}

/** In the size of what comes. A failure is told once, above the tiles. */
const NotYet = ({ failed }: { failed: boolean }) => (
  <div className="tile-body">
    <span className="tile-value">{failed ? <span className="faint">–</span> : <span className="tile-bar" />}</span>
    <span className="tile-change" />
    <Spark values={[]} />
  </div>
)
