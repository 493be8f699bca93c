import type { Offering } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { usePages } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { More, Names } from './names.tsx'
import { SetMain } from './set-main.tsx'

const columns = (denied: string | undefined): readonly Column<Offering>[] => [
  {
    key: 'offering',
    head: t('Offering'),
    cell: ({ id }) => (
      <span className="catalogue-name">
        <b title={id}>{id}</b>
      </span>
    ),
  },
  {
    key: 'main',
    head: t('Main'),
    cell: ({ id, tag }) =>
      tag === 1 ? <StatusChip status="main" tone="good" label={t('Main')} /> : <SetMain id={id} denied={denied} small />,
  },
  {
    key: 'products',
    head: t('Products, in their order'),
    cell: ({ product_ids }) => <Names ids={product_ids} tab="products" none={t('none')} />,
  },
  { key: 'changed', head: t('Changed'), wideOnly: true, cell: ({ updated_at }) => <Time at={updated_at} relative /> },
]

/** Groups of products to sell; apps show the main one unless they ask for another one. */
export default function OfferingsTab() {
  const [, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const read = usePages('v4ListOfferings', { query: { limit: 50 } })
  return (
    <Card flush>
      <DataState
        of={read}
        shape="table"
        isEmpty={rows => rows.length === 0}
        empty={
          <Empty
            icon="tag"
            title={t('No offering yet')}
            why={t('An offering is a list of products in the order in which an app shows them. The first one becomes the main one.')}
            action={
              <Act denied={denied} size="xs" onClick={() => set({ at: 'new' }, { push: true })}>
                {t('Make the first one')}
              </Act>
            }
            curl={`curl -X POST "${location.origin}/v4/offerings" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"id":"default","product_ids":["pro_monthly"]}'`}
          />
        }
      >
        {rows => (
          <Table
            caption={t('Offerings')}
            columns={columns(denied)}
            rows={rows}
            rowKey={({ id }) => id}
            onOpen={({ id }) => set({ at: `one.${id}` }, { push: true })}
          />
        )}
      </DataState>
      <More of={read} />
    </Card>
  )
}
