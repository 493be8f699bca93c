import type { Offering } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ListFoot } from '../../parts/list-foot.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Names } from './names.tsx'
import { pageQuery } from './query.ts'
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
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const read = useRead('v4ListOfferings', { query: pageQuery(search) })
  return (
    <Card flush>
      <DataState
        of={read}
        shape="table"
        isEmpty={({ data }) => data.length === 0 && search.after === undefined}
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
        {({ data }) => (
          <Table
            caption={t('Offerings')}
            columns={columns(denied)}
            rows={data}
            rowKey={({ id }) => id}
            onOpen={({ id }) => set({ at: `one.${id}` }, { push: true })}
          />
        )}
      </DataState>
      <ListFoot of={read} />
    </Card>
  )
}
