import './overview.css'
import { useAddress } from '../../data/address.ts'
import { RANGE_TEXTS, rangeOf, UNIT_OF } from '../../data/range.ts'
import { usePreferences } from '../../data/session.ts'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'
import { Freshness } from './freshness.tsx'
import { LiveEvents } from './live-events.tsx'
import { Moved } from './moved.tsx'
import { Promises } from './promises.tsx'
import { Tile } from './tile.tsx'
import { useTileCharts } from './tile-charts.ts'
import { TILES } from './tiles.ts'
import { Today } from './today.tsx'

/** How it goes: eight figures against the period before, what is late, today, what moved, what happens now. */
export default function Overview() {
  const [search] = useAddress()
  const { zone } = usePreferences()
  const { from, to, key } = rangeOf(search, zone)
  const charts = useTileCharts(TILES, {
    from,
    to,
    unit: UNIT_OF[key] ?? 'day',
    timezone: zone,
    ...(search.currency && { currency: search.currency }),
  })
  return (
    <Page
      title={t('Overview')}
      about={t('{range}, in {zone}, against the same length before', { range: RANGE_TEXTS[key] ?? t('Own range'), zone })}
      actions={<Freshness charts={charts.map(({ data }) => data)} />}
    >
      <Promises />
      <div className="tiles">
        {TILES.map((code, at) => (
          <Tile key={code} code={code} read={charts[at]!} range={key} />
        ))}
      </div>
      <div className="grid two start">
        <div className="overview-left">
          <Today currency={search.currency} />
          <Moved />
        </div>
        <LiveEvents />
      </div>
    </Page>
  )
}
