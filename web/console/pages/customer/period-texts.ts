import type { Purchase } from '../../../../clients/typescript/src/index.ts'
import { shortId } from '../../parts/copy.tsx'
import { dateFormat } from '../../parts/format.ts'
import { plain, t } from '../../parts/t.ts'
import type { Period, PeriodKind } from './periods.ts'

/** `sign`: beside the colour, so that none is told by colour alone. */
export const PERIODS: Readonly<Record<PeriodKind, { says: string; sign: string }>> = {
  trial: { says: 'trial', sign: '◐' },
  paid: { says: 'paid', sign: '' },
  part: { says: 'refunded in part', sign: '↩' },
  refunded: { says: 'refunded', sign: '✕' },
  grace: { says: 'grace', sign: '▲' },
  retry: { says: 'charge failed', sign: '▲' },
}

export const day = (at: number, zone: string): string =>
  dateFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short', year: 'numeric' }).format(at)

export const priceOf = ({ price, currency }: Purchase): string => `${price} ${currency}`

/** `Paid, 9.99 USD, com.example.monthly`. */
export function periodText({ kind, purchase }: Period): string {
  const { product_id, refunded_amount, price } = purchase
  switch (kind) {
    case 'trial':
      return t('Trial of {product}', { product: product_id })
    case 'paid':
      return t('{price} for {product}', { price: priceOf(purchase), product: product_id })
    case 'part':
    case 'refunded':
      return t('{amount} of {price} refunded, {product}', {
        amount: refunded_amount ?? price,
        price: priceOf(purchase),
        product: product_id,
      })
    case 'grace':
      return t('Grace: the charge failed, access stays, {product}', { product: product_id })
    case 'retry':
      return t('The charge failed, the store tries again, {product}', { product: product_id })
    default:
      return kind satisfies never
  }
}

export function spanText({ start, end }: Pick<Period, 'start' | 'end'>, zone: string): string {
  return end === undefined ? t('since {from}', { from: day(start, zone) }) : `${day(start, zone)} – ${day(end, zone)}`
}

/** Whose purchase it is, where it is not simply this customer's. */
export function ownerOf({ user_id, is_family_shared }: Purchase, id: string): string | undefined {
  if (user_id !== id) return t('shared by {user}', { user: shortId(user_id) })
  return is_family_shared ? t('shared in the family') : undefined
}

/** How it stands: what the store said last of the latest subscription. */
export function standing(purchases: readonly Purchase[], now: number, zone: string): string {
  const last = purchases.find(({ expires_at }) => expires_at !== null)
  if (!last) return ''
  const end = Date.parse(last.expires_at!)
  const on = day(end, zone)
  if (last.is_paused) return t('paused')
  if (last.billing_retry_at !== null && last.is_auto_renewing) return t('the charge failed, the store tries again')
  if (end <= now) return t('ended on {on}', { on })
  const planned = last.planned_product_id ? t(', then {product}', { product: last.planned_product_id }) : ''
  return last.is_auto_renewing ? t('renews on {on}', { on }) + planned : t('ends on {on}, does not renew', { on })
}

export const storeOf = ({ platform }: Purchase): string => plain(platform)
