import type { Product } from '../../../../clients/typescript/src/index.ts'
import { type Search, useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { ListFoot } from '../../parts/list-foot.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { Names } from './names.tsx'
import { pageQuery } from './query.ts'
import { Unmapped } from './unmapped.tsx'
import { durationText, storeIds, typeText } from './words.ts'

const KINDS: Readonly<Record<string, { text: string; types: ('subscription' | 'subscription_with_promo' | 'consumable' | 'lifetime')[] }>> =
  {
    subscription: { text: 'Subscriptions', types: ['subscription', 'subscription_with_promo'] },
    once: { text: 'One-time', types: ['consumable', 'lifetime'] },
  }
const kindOf = (search: Search) => (Object.hasOwn(KINDS, search['f.kind'] ?? '') ? search['f.kind']! : undefined)

/** What a list of a hundred says about products; undefined: it is not there, or has more. */
type Lists = { entitlementsOf: ((id: string) => string[]) | undefined; offeringsOf: ((id: string) => string[]) | undefined }

const columns = ({ entitlementsOf, offeringsOf }: Lists): readonly Column<Product>[] => [
  {
    key: 'product',
    head: t('Product'),
    cell: ({ id, type }) => (
      <span className="catalogue-name">
        <b title={id}>{id}</b>
        <span className="soft">{typeText(type)}</span>
      </span>
    ),
  },
  {
    key: 'period',
    head: t('Period'),
    cell: ({ duration }) =>
      duration === null ? <span className="faint">–</span> : <span className="nowrap">{durationText(duration)}</span>,
  },
  {
    key: 'stores',
    head: t('In the stores'),
    wideOnly: true,
    cell: product => {
      const ids = storeIds(product)
      return ids.length === 0 ? (
        <span className="warn-note">{t('linked to no store')}</span>
      ) : (
        <ul className="store-ids">
          {ids.map(({ text, id }) => (
            <li key={text}>
              <span className="soft">{text}</span> <code title={id}>{id}</code>
            </li>
          ))}
        </ul>
      )
    },
  },
  ...(entitlementsOf
    ? [
        {
          key: 'gives',
          head: t('Gives'),
          cell: ({ id }: Product) => <Names ids={entitlementsOf(id)} tab="entitlements" none={t('nothing')} />,
        },
      ]
    : []),
  ...(offeringsOf
    ? [
        {
          key: 'offered',
          head: t('Offered in'),
          wideOnly: true,
          cell: ({ id }: Product) => <Names ids={offeringsOf(id)} tab="offerings" none={t('no offering')} />,
        },
      ]
    : []),
  { key: 'changed', head: t('Changed'), wideOnly: true, cell: ({ updated_at }) => <Time at={updated_at} relative /> },
]

type Listing = { id: string; product_ids: string[] }
const listing = (all: { data: readonly Listing[]; has_more: boolean } | undefined) =>
  all === undefined || all.has_more
    ? undefined
    : (product: string) => all.data.filter(one => one.product_ids.includes(product)).map(({ id }) => id)

export default function ProductsTab() {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const kind = kindOf(search)
  const read = useRead('v4ListProducts', { query: { ...pageQuery(search), ...(kind && { 'filter[type]': KINDS[kind]!.types }) } })
  const entitlements = useRead('v4ListEntitlements', { query: { limit: 100 } })
  const offerings = useRead('v4ListOfferings', { query: { limit: 100 } })
  const open = (id: string) => set({ at: `one.${id}` }, { push: true })
  const make = () => set({ at: 'new', from: undefined }, { push: true })
  return (
    <>
      <Unmapped denied={denied} />
      <div className="filters catalogue-filters">
        {Object.entries(KINDS).map(([code, { text }]) => (
          <Chip key={code} on={kind === code} onClick={() => set({ 'f.kind': kind === code ? undefined : code, after: undefined })}>
            {t(text)}
          </Chip>
        ))}
      </div>
      <Card flush>
        <DataState
          of={read}
          shape="table"
          isEmpty={({ data }) => data.length === 0 && search.after === undefined}
          empty={
            kind === undefined ? (
              <Empty
                icon="tag"
                title={t('No product yet')}
                why={t(
                  'A product stands for one thing that you sell, and names its ids in the stores. Purchases that were made before count for it, too.',
                )}
                action={
                  <Act denied={denied} size="xs" onClick={make}>
                    {t('Make the first one')}
                  </Act>
                }
                curl={CURL()}
              />
            ) : (
              <Empty
                icon="tag"
                title={t('No product is selected')}
                why={t('None is of this kind.')}
                action={
                  <button type="button" className="chip" onClick={() => set({ 'f.kind': undefined, after: undefined })}>
                    {t('Show all')}
                  </button>
                }
              />
            )
          }
        >
          {({ data }) => (
            <Table
              caption={t('Products')}
              columns={columns({ entitlementsOf: listing(entitlements.data), offeringsOf: listing(offerings.data) })}
              rows={data}
              rowKey={({ id }) => id}
              onOpen={({ id }) => open(id)}
            />
          )}
        </DataState>
        <ListFoot of={read} />
      </Card>
      <Beside of={entitlements} all={t('There are more than 100 entitlements: what a product gives is told where it is opened.')} />
      <Beside of={offerings} all={t('There are more than 100 offerings: where a product is offered is told where it is opened.')} />
    </>
  )
}

/** Why a column is not there. */
function Beside({
  of,
  all,
}: {
  of: { data: { has_more: boolean } | undefined; error: unknown; isError: boolean; refetch: () => unknown }
  all: string
}) {
  if (of.data?.has_more) return <p className="soft catalogue-beside">{all}</p>
  return of.isError && of.data === undefined ? <Fault error={of.error} retry={of.refetch} /> : null
}

const CURL = () =>
  `curl -X POST "${location.origin}/v4/products" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"id":"pro_monthly","type":"subscription","duration":"P1M","apple_product_id":"com.example.pro.monthly"}'`
