import '../overview/tiles.css'
import './charts.css'
import { useAddress } from '../../data/address.ts'
import { unitFor } from '../../data/calendar.ts'
import { CHARTS } from '../../data/charts.ts'
import { RANGES, rangeOf } from '../../data/range.ts'
import { usePreferences } from '../../data/session.ts'
import { useTick } from '../../data/use-tick.ts'
import { Fault } from '../../parts/fault.tsx'
import { Freshness } from '../../parts/freshness.tsx'
import { Page } from '../../parts/page.tsx'
import { RangePick } from '../../parts/range-pick.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { Tile } from '../overview/tile.tsx'
import { useTileCharts } from '../overview/tile-charts.ts'
import { Views } from './views.tsx'

const CODES = CHARTS.flatMap(({ charts }) => charts.map(({ code }) => code))
/** So many charts come in one answer: the first ones are soon there, and who goes on leaves little behind that the service still computes. */
const BATCH = 3
const BATCHES = Array.from({ length: Math.ceil(CODES.length / BATCH) }, (_, n) => CODES.slice(n * BATCH, (n + 1) * BATCH))

/** All charts in their groups, each with its figure and its course; before them what was saved. */
export default function Charts() {
  const [search] = useAddress()
  const { zone } = usePreferences()
  useTick()
  const range = rangeOf(search, zone)
  const query = {
    from: range.from,
    to: range.to,
    unit: unitFor(range),
    timezone: zone,
    ...(search.currency && { currency: search.currency }),
  }
  const own = {
    ...(range.key === 'own' ? { from: search.from, to: search.to } : { range: range.key }),
    currency: search.currency,
  }
  // biome-ignore lint/correctness/useHookAtTopLevel: the same batches in the same order each time
  const reads = BATCHES.map(codes => useTileCharts(codes, query))
  const answers = reads.flatMap(read => [...read.charts.values()])
  const failed = reads.filter(read => read.error !== null)
  const error = failed[0]?.error
  const retry = () => Promise.all(failed.map(read => read.refetch()))
  return (
    <Page
      title={t('Charts')}
      about={t('Every figure with its course, in {zone}, against the same length before', { zone })}
      actions={<Freshness of={answers} />}
    >
      <div className="filters">
        <RangePick range={range} zone={zone} presets={[...RANGES]} />
      </div>
      <Views />
      {error && (
        <div className="tiles-fault">
          <Fault error={error} retry={retry} />
        </div>
      )}
      {CHARTS.map(({ group, charts }) => (
        <section key={group} aria-label={t(group)}>
          <h2 className="group-title">{t(group)}</h2>
          <div className="tiles">
            {charts.map(({ code }) => {
              const read = reads[Math.floor(CODES.indexOf(code) / BATCH)]!
              return (
                <Tile key={code} code={code} chart={read.charts.get(code)} search={own} failed={read.error !== null} stale={read.isStale} />
              )
            })}
          </div>
        </section>
      ))}
      <section aria-label={t('By cohort')}>
        <h2 className="group-title">{t('By cohort')}</h2>
        <div className="tiles">
          <To to="/cohorts" className="card tile by-cohort">
            <span className="by-cohort-name">{t('Cohorts')}</span>
            <span className="soft">{t('Who began together, and who still pays in each period after')}</span>
          </To>
          <To to="/ltv" className="card tile by-cohort">
            <span className="by-cohort-name">{t('Lifetime value')}</span>
            <span className="soft">{t('What a new user has paid after so many days, and when a cost is paid back')}</span>
          </To>
        </div>
      </section>
    </Page>
  )
}
