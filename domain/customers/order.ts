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

/** A part of the order that one index contains. Its rows are ordered by (value, id), or by id alone where all values are the same. */
type IndexRange = { where: string; isConstant: boolean; contains: (value: string | null) => boolean }

/** `key`: the sort key as the index contains it. */
export type Sort = { key: string; type: string; ranges: (direction: Direction) => IndexRange[] }

const ALL: IndexRange = { where: 'true', isConstant: false, contains: () => true }
const oneRange = (key: string, type: string): Sort => ({ key, type, ranges: () => [ALL] })

const PAID = 'payments_count > 0'
const UNPAID = 'payments_count = 0'

/** Customers with a payment have a value, the others have none; null is last in both directions. */
const ofLastPayment = (key: string, type: string): Sort => ({
  key,
  type,
  ranges: () => [
    { where: PAID, isConstant: false, contains: value => value !== null },
    { where: UNPAID, isConstant: true, contains: value => value === null },
  ],
})

/** A number that is zero for most customers: the zeros have an index of their own. `ascending`: the ranges in ascending order. */
const aroundZero = (key: string, type: string, ascending: IndexRange[]): Sort => ({
  key,
  type,
  ranges: direction => (direction === 'asc' ? ascending : [...ascending].reverse()),
})

export const SORTS: Record<SortBy, Sort> = {
  since: oneRange('created_at', 'timestamptz'),
  status: oneRange('status collate "C"', 'text'),
  last_payment_at: ofLastPayment('last_payment_at', 'timestamptz'),
  purchase_currency: ofLastPayment('purchase_currency', 'text'),
  purchase_product_id: ofLastPayment('purchase_product_id', 'text'),
  payments_count: aroundZero('payments_count', 'int', [
    { where: UNPAID, isConstant: true, contains: value => Number(value) === 0 },
    { where: PAID, isConstant: false, contains: value => Number(value) > 0 },
  ]),
  net_payments_usd: aroundZero('net_payments_usd', 'numeric', [
    { where: 'net_payments_usd <> 0 and net_payments_usd < 0', isConstant: false, contains: value => Number(value) < 0 },
    { where: 'net_payments_usd = 0', isConstant: true, contains: value => Number(value) === 0 },
    { where: 'net_payments_usd <> 0 and net_payments_usd > 0', isConstant: false, contains: value => Number(value) > 0 },
  ]),
}
