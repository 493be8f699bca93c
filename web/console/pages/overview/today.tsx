import type { AnalyticsCard } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { Delta, Figure } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'

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
          <Table caption={t('Today until now')} columns={columnsIn(currency ?? 'USD')} rows={figures} rowKey={({ code }) => code} />
        )}
      </DataState>
    </Card>
  )
}

type Row = AnalyticsCard[number]

const columnsIn = (currency: string): Column<Row>[] => {
  const shown = ({ code }: Row, value: number) => (
    <Figure value={value} measure={code === 'tracked_revenue' ? 'usd' : 'count'} currency={currency} />
  )
  return [
    { key: 'what', head: t('What'), cell: ({ code }) => t(NAMES[code] ?? code) },
    { key: 'today', head: t('Today'), figures: true, cell: row => shown(row, row.value) },
    { key: 'yesterday', head: t('Yesterday'), figures: true, cell: row => <span className="soft">{shown(row, row.valuePrev)}</span> },
    { key: 'change', head: t('Change'), figures: true, cell: ({ value, valuePrev }) => <Delta now={value} before={valuePrev} /> },
  ]
}
