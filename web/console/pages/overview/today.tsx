import { useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { Delta, Figure } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import type { Measure } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'

const NAMES: Record<string, string> = {
  trials_count: 'Trials',
  subscriptions_count: 'Subscriptions',
  inapp_count: 'One-time purchases',
  tracked_revenue: 'Revenue',
}

/** Today until now against yesterday until the same time of day: both sides are complete, so the change may be judged. */
export function Today({ currency }: { currency: string | undefined }) {
  const { zone } = usePreferences()
  const read = useRead(
    'v4GetAnalyticsCard',
    { path: { card_code: 'realtime' }, query: { timezone: zone, ...(currency && { currency }) } },
    { topics: ['facts'], every: 60_000 },
  )
  return (
    <Card title={t('Today until now')} right={t('against yesterday at this time')} flush>
      <DataState of={read} shape="table" rows={4}>
        {figures => (
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{t('What')}</th>
                <th scope="col" className="num">
                  {t('Today')}
                </th>
                <th scope="col" className="num">
                  {t('Yesterday')}
                </th>
                <th scope="col" className="num">
                  {t('Change')}
                </th>
              </tr>
            </thead>
            <tbody>
              {figures.map(({ code, value, valuePrev }) => {
                const measure: Measure = code === 'tracked_revenue' ? 'usd' : 'count'
                return (
                  <tr key={code}>
                    <td>{t(NAMES[code] ?? code)}</td>
                    <td className="num">
                      <Figure value={value} measure={measure} currency={currency ?? 'USD'} />
                    </td>
                    <td className="num soft">
                      <Figure value={valuePrev} measure={measure} currency={currency ?? 'USD'} />
                    </td>
                    <td className="num">
                      <Delta now={value} before={valuePrev} />
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        )}
      </DataState>
    </Card>
  )
}
