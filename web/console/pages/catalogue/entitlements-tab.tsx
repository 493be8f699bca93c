import type { Entitlement } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ListFoot } from '../../parts/list-foot.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Names } from './names.tsx'
import { pageQuery } from './query.ts'

const COLUMNS: readonly Column<Entitlement>[] = [
  {
    key: 'entitlement',
    head: t('Entitlement'),
    cell: ({ id, description }) => (
      <span className="catalogue-name">
        <b title={id}>{id}</b>
        {description && (
          <bdi className="soft" title={description}>
            {description}
          </bdi>
        )}
      </span>
    ),
  },
  {
    key: 'products',
    head: t('Products that give it'),
    cell: ({ product_ids }) => <Names ids={product_ids} tab="products" none={t('none')} />,
  },
  { key: 'changed', head: t('Changed'), wideOnly: true, cell: ({ updated_at }) => <Time at={updated_at} relative /> },
]

/** Rights that apps ask for: who bought one of the products has it. */
export default function EntitlementsTab() {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const read = useRead('v4ListEntitlements', { query: pageQuery(search) })
  return (
    <Card flush>
      <DataState
        of={read}
        shape="table"
        isEmpty={({ data }) => data.length === 0 && search.after === undefined}
        empty={
          <Empty
            icon="key"
            title={t('No entitlement yet')}
            why={t('An entitlement is what an app asks for, such as premium: it names the products whose purchase gives it.')}
            action={
              <Act denied={denied} size="xs" onClick={() => set({ at: 'new' }, { push: true })}>
                {t('Make the first one')}
              </Act>
            }
            curl={`curl -X POST "${location.origin}/v4/entitlements" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"id":"premium","product_ids":["pro_monthly"]}'`}
          />
        }
      >
        {({ data }) => (
          <Table
            caption={t('Entitlements')}
            columns={COLUMNS}
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
