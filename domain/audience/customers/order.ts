export type SortBy =
  | 'since'
  | 'status'
  | 'last_payment_at'
  | 'purchase_currency'
  | 'payments_count'
  | 'net_payments_usd'
  | 'purchase_product_id'
export type Direction = 'asc' | 'desc'

/** `after`: the id of the customer after which the page begins; without it, `offset` rows are skipped. */
export type CustomerPage = { sort: SortBy; direction: Direction; limit: number; offset: number; after: string | undefined }
/** The customer after which a page begins, with its present value of the sort key. */
export type CustomerCursor = { id: string; value: string | null }

/**
 * A part of the order. Its rows are ordered by (value, id), or by id alone where all values are the same. `where`: the conditions of the
 * indexes that contain the rows, each row in one of them.
 */
type IndexRange = { where: string[]; isConstant: boolean; contains: (value: string | null) => boolean }

/** `key`: the sort key as the index contains it, of the row `u`. `value`: the value of the key, null where there is none. */
export type Sort = { key: string; value: string; type: string; ranges: (direction: Direction) => IndexRange[] }

const ALL: IndexRange = { where: ['true'], isConstant: false, contains: () => true }
const oneRange = (key: string, type: string): Sort => ({ key, value: key, type, ranges: () => [ALL] })

const PAID = 'u.payments_count > 0'
const UNPAID = 'u.payments_count = 0'

/** Customers with a payment have a value, the others have none; null is last in both directions. */
const ofLastPayment = (key: string, type: string): Sort => ({
  key,
  value: key,
  type,
  ranges: () => [
    { where: [PAID], isConstant: false, contains: value => value !== null },
    { where: [UNPAID], isConstant: true, contains: value => value === null },
  ],
})

/** The product of the last payment. A payment without a product has an empty text there: shown, and sorted, as no value. */
const ofLastProduct: Sort = {
  key: 'u.purchase_product_id',
  value: `nullif(u.purchase_product_id, '')`,
  type: 'text',
  ranges: () => [
    { where: [`${PAID} and u.purchase_product_id > ''`], isConstant: false, contains: value => value !== null },
    { where: [`${PAID} and u.purchase_product_id = ''`, UNPAID], isConstant: true, contains: value => value === null },
  ],
}

/** A number that is zero for most customers: the zeros have an index of their own. `ascending`: the ranges in ascending order. */
const aroundZero = (key: string, type: string, ascending: IndexRange[]): Sort => ({
  key,
  value: key,
  type,
  ranges: direction => (direction === 'asc' ? ascending : [...ascending].reverse()),
})

export const SORTS: Record<SortBy, Sort> = {
  // The whole second that is shown. An index needs an expression that does not depend on the session's time zone.
  since: oneRange(`date_trunc('second', u.created_at at time zone 'UTC')`, 'timestamp'),
  status: oneRange('u.status collate "C"', 'text'),
  last_payment_at: ofLastPayment('u.last_payment_at', 'timestamptz'),
  purchase_currency: ofLastPayment('u.purchase_currency', 'text'),
  purchase_product_id: ofLastProduct,
  payments_count: aroundZero('u.payments_count', 'int', [
    { where: [UNPAID], isConstant: true, contains: value => Number(value) === 0 },
    { where: [PAID], isConstant: false, contains: value => Number(value) > 0 },
  ]),
  net_payments_usd: aroundZero('u.net_payments_usd', 'numeric', [
    { where: ['u.net_payments_usd <> 0 and u.net_payments_usd < 0'], isConstant: false, contains: value => Number(value) < 0 },
    { where: ['u.net_payments_usd = 0'], isConstant: true, contains: value => Number(value) === 0 },
    { where: ['u.net_payments_usd <> 0 and u.net_payments_usd > 0'], isConstant: false, contains: value => Number(value) > 0 },
  ]),
}
