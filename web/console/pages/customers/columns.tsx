import type { Customer } from '../../../../clients/typescript/src/index.ts'
import { Amount, Count } from '../../parts/amount.tsx'
import { shortId } from '../../parts/copy.tsx'
import { csv } from '../../parts/export-menu.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { customerStatus } from '../../parts/statuses.ts'
import { t } from '../../parts/t.ts'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'

const nameOf = ({ external_identity, custom_uid }: Customer) => external_identity ?? custom_uid

const Missing = () => <span className="faint">–</span>
const Text = ({ children }: { children: string | null }) =>
  children === null ? (
    <Missing />
  ) : (
    <span className="customers-text" title={children}>
      {children}
    </span>
  )

export const COLUMNS: readonly Column<Customer>[] = [
  {
    key: 'name',
    head: t('Customer'),
    cell: one => (
      <span className="customers-name">
        <span className={nameOf(one) ? 'customers-title' : 'customers-title soft'} title={nameOf(one) ?? undefined}>
          {nameOf(one) ?? t('Not identified')}
        </span>
        <code className="id" title={one.id}>
          {shortId(one.id)}
        </code>
      </span>
    ),
  },
  { key: 'status', head: t('Status'), sort: 'status', cell: ({ status }) => <StatusChip {...customerStatus(status)} /> },
  {
    key: 'net',
    head: t('Paid, net'),
    sort: 'net_payments_usd',
    figures: true,
    cell: ({ net_payments_usd }) => <Amount value={net_payments_usd} currency="USD" />,
  },
  {
    key: 'payments',
    head: t('Payments'),
    sort: 'payments_count',
    figures: true,
    wideOnly: true,
    cell: ({ payments_count }) => <Count value={payments_count} />,
  },
  {
    key: 'last',
    head: t('Last payment'),
    sort: 'last_payment_at',
    wideOnly: true,
    cell: ({ last_payment_at }) => (last_payment_at ? <Time at={last_payment_at} relative /> : <Missing />),
  },
  {
    key: 'product',
    head: t('Product'),
    sort: 'purchase_product_id',
    wideOnly: true,
    cell: ({ purchase_product_id }) => <Text>{purchase_product_id}</Text>,
  },
  { key: 'platform', head: t('Platform'), wideOnly: true, cell: ({ target_platform }) => <Text>{target_platform}</Text> },
  { key: 'country', head: t('Country'), wideOnly: true, cell: ({ client_country }) => <Text>{client_country}</Text> },
  { key: 'since', head: t('Since'), sort: 'since', wideOnly: true, cell: ({ since }) => <Time at={since} relative /> },
  { key: 'seen', head: t('Seen'), wideOnly: true, cell: ({ last_seen }) => <Time at={last_seen} relative /> },
]

const FIELDS = [
  'id',
  'external_identity',
  'custom_uid',
  'status',
  'net_payments_usd',
  'payments_count',
  'last_payment_at',
  'purchase_product_id',
  'target_platform',
  'client_country',
  'since',
  'last_seen',
] as const satisfies (keyof Customer)[]

export const customersFile = (rows: readonly Customer[]): Blob => csv([FIELDS, ...rows.map(row => FIELDS.map(field => row[field]))])
