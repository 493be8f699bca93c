export type SortBy =
  | 'since'
  | 'status'
  | 'last_payment_at'
  | 'purchase_currency'
  | 'payments_count'
  | 'net_payments_usd'
  | 'purchase_product_id'
export type Direction = 'asc' | 'desc'

/** A stretch of the order that one index holds. Within it rows stand by (value, id), or by id alone where all values are the same. */
export type Part = { where: string; isConstant: boolean; holds: (value: string | null) => boolean }

/** `key`: the value sorted by, as the index has it. */
export type Sort = { key: string; type: string; parts: (direction: Direction) => Part[] }

const ALL: Part = { where: 'true', isConstant: false, holds: () => true }
const whole = (key: string, type: string): Sort => ({ key, type, parts: () => [ALL] })

const PAID = 'payments_count > 0'
const UNPAID = 'payments_count = 0'

/** Known exactly for those who paid; null last, whichever way. */
const ofLastPayment = (key: string, type: string): Sort => ({
  key,
  type,
  parts: () => [
    { where: PAID, isConstant: false, holds: value => value !== null },
    { where: UNPAID, isConstant: true, holds: value => value === null },
  ],
})

/** A number that is zero for most: the zeros are an index of their own. Parts are given in ascending order. */
const aroundZero = (key: string, type: string, ascending: Part[]): Sort => ({
  key,
  type,
  parts: direction => (direction === 'asc' ? ascending : [...ascending].reverse()),
})

export const SORTS: Record<SortBy, Sort> = {
  since: whole('created_at', 'timestamptz'),
  status: whole('status collate "C"', 'text'),
  last_payment_at: ofLastPayment('last_payment_at', 'timestamptz'),
  purchase_currency: ofLastPayment('purchase_currency', 'text'),
  purchase_product_id: ofLastPayment('purchase_product_id', 'text'),
  payments_count: aroundZero('payments_count', 'int', [
    { where: UNPAID, isConstant: true, holds: value => Number(value) === 0 },
    { where: PAID, isConstant: false, holds: value => Number(value) > 0 },
  ]),
  net_payments_usd: aroundZero('net_payments_usd', 'numeric', [
    { where: 'net_payments_usd <> 0 and net_payments_usd < 0', isConstant: false, holds: value => Number(value) < 0 },
    { where: 'net_payments_usd = 0', isConstant: true, holds: value => Number(value) === 0 },
    { where: 'net_payments_usd <> 0 and net_payments_usd > 0', isConstant: false, holds: value => Number(value) > 0 },
  ]),
}
