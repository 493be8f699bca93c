import { usePreferences } from '../../data/session.ts'
import { counted, t } from '../../parts/t.ts'
import { Table } from '../../parts/table.tsx'
import { To } from '../../parts/to.tsx'
import { day, ownerOf, PERIODS, priceOf, spanText, storeOf } from './period-texts.ts'
import type { Gap, Mark, Period, Story } from './periods.ts'

type Row = { key: string; when: string; at: number; state: string; purchase?: Period['purchase'] }

/** The bar as a table: the latest first. */
export function PeriodList({ id, story, now }: { id: string; story: Story; now: number }) {
  const { zone } = usePreferences()
  const periodRow = (period: Period): Row => ({
    key: period.key,
    at: period.start,
    when: spanText(period, zone),
    state: [t(PERIODS[period.kind].says), period.end !== undefined && period.end > now && t('not over yet')].filter(Boolean).join(', '),
    purchase: period.purchase,
  })
  const markRow = ({ key, at, purchase }: Mark): Row => ({ key, at, when: day(at, zone), state: t('one-time purchase'), purchase })
  const gapRow = (gap: Gap): Row => ({ key: `gap-${gap.start}`, at: gap.start, when: spanText(gap, zone), state: t('nothing') })
  const rows = [...story.periods.map(periodRow), ...story.marks.map(markRow), ...story.gaps.map(gapRow)].sort((a, b) => b.at - a.at)
  return (
    <details className="bar-list">
      <summary>{counted(rows.length, 'As a list: {n} row', 'As a list: {n} rows')}</summary>
      <Table
        caption={t('Purchases')}
        rows={rows}
        rowKey={({ key }) => key}
        columns={[
          { key: 'when', head: t('When'), cell: ({ when }) => <span className="nowrap">{when}</span> },
          { key: 'state', head: t('What'), cell: ({ state }) => state },
          { key: 'product', head: t('Product'), cell: ({ purchase }) => <span className="bar-product">{purchase?.product_id}</span> },
          {
            key: 'price',
            head: t('Price'),
            figures: true,
            cell: ({ purchase }) => <span className="nowrap">{purchase && priceOf(purchase)}</span>,
          },
          { key: 'refund', head: t('Refunded'), figures: true, wideOnly: true, cell: ({ purchase }) => purchase && refundOf(purchase) },
          { key: 'store', head: t('Store'), wideOnly: true, cell: ({ purchase }) => purchase && storeOf(purchase) },
          { key: 'owner', head: t('Whose'), wideOnly: true, cell: ({ purchase }) => purchase && <Owner id={id} purchase={purchase} /> },
        ]}
      />
    </details>
  )
}

const refundOf = ({ refunded_at, refunded_amount, price, currency }: Period['purchase']) =>
  refunded_at === null ? <span className="faint">–</span> : `${refunded_amount ?? price} ${currency}`

function Owner({ id, purchase }: { id: string; purchase: Period['purchase'] }) {
  const owner = ownerOf(purchase, id)
  if (owner === undefined) return <span className="soft">{t('own')}</span>
  if (purchase.user_id === id) return <>{owner}</>
  return (
    <To to={`/customers/${encodeURIComponent(purchase.user_id)}`} className="link">
      {owner}
    </To>
  )
}
