import './overview.css'
import './promises.css'
import './tiles.css'
import { lazy, Suspense } from 'react'
import { useAddress } from '../../data/address.ts'
import { rangeOf, UNIT_OF } from '../../data/range.ts'
import { usePreferences } from '../../data/session.ts'
import { useTick } from '../../data/use-tick.ts'
import { Card } from '../../parts/card.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Freshness } from '../../parts/freshness.tsx'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'
import { Controls } from './controls.tsx'
import { Moved } from './moved.tsx'
import { usePins } from './pins.ts'
import { Promises } from './promises.tsx'
import { Tile } from './tile.tsx'
import { useTileCharts } from './tile-charts.ts'
import { Today } from './today.tsx'
import { useIsNew } from './use-is-new.ts'

const FirstSteps = lazy(() => import('./first-steps.tsx'))
// Beside the figures, which are there first.
const LiveEvents = lazy(() => import('./live-events.tsx'))

const ABOUT: Record<string, string> = {
  '7d': 'Last 7 days, in {zone}, against the 7 days before',
  '28d': 'Last 28 days, in {zone}, against the 28 days before',
  '90d': 'Last 90 days in whole weeks, in {zone}, against the same length before',
  '180d': 'Last 180 days in whole weeks, in {zone}, against the same length before',
  '365d': 'Last 12 months, in {zone}, against the same length before',
}

/** How it goes: eight figures against the period before, what is late, today, what moved, what happens now. */
export default function Overview() {
  const [search] = useAddress()
  const { zone } = usePreferences()
  // The range goes on with the clock.
  useTick()
  const { from, to, key } = rangeOf(search, zone)
  const { pinned } = usePins()
  const isNew = useIsNew()
  const read = useTileCharts(pinned, {
    from,
    to,
    unit: UNIT_OF[key] ?? 'day',
    timezone: zone,
    ...(search.currency && { currency: search.currency }),
  })
  return (
    <Page
      title={t('Overview')}
      about={t(ABOUT[key] ?? 'In {zone}, against the same length before', { zone })}
      actions={
        <>
          <Freshness of={[...read.charts.values()]} />
          <Controls range={key} currency={search.currency} />
        </>
      }
    >
      <Promises />
      <Suspense fallback={null}>{isNew && <FirstSteps />}</Suspense>
      {read.error && (
        <div className="tiles-fault">
          <Fault error={read.error} retry={read.refetch} />
        </div>
      )}
      <div className="tiles">
        {pinned.map(code => (
          <Tile
            key={code}
            code={code}
            chart={read.charts.get(code)}
            search={{ range: key, currency: search.currency }}
            failed={read.error !== null}
            stale={read.isStale}
          />
        ))}
      </div>
      <div className="grid two start">
        <div className="overview-left">
          <Today currency={search.currency} />
          <Moved />
        </div>
        <Suspense
          fallback={
            <Card title={t('Live')} flush>
              <Bars rows={10} />
            </Card>
          }
        >
          <LiveEvents />
        </Suspense>
      </div>
    </Page>
  )
}
