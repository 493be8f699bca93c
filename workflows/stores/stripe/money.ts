import { isCurrency } from '../../../domain/events/money.ts'
import { exactDecimal } from '../../../domain/kernel/decimal.ts'
import { NotCredible } from '../../../domain/purchases/store-facts/credible.ts'

const WITHOUT_DECIMALS = 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' ')
const WITH_THREE = 'BHD JOD KWD OMR TND'.split(' ')

/** Stripe's currency code in capitals. Throws `NotCredible` for an unknown currency: the decimals of its amounts are unknown. */
export function stripeCurrency(code: string): string {
  const currency = code.toUpperCase()
  if (!isCurrency(currency)) throw new NotCredible(`an amount of Stripe has the unknown currency ${JSON.stringify(code)}`)
  return currency
}

/**
 * Decimals of Stripe's amounts, which are whole numbers of the smallest unit: docs.stripe.com/currencies. ISK and UGX have no decimals any more,
 * and Stripe still states them with two: 500 is 5 ISK or 5 UGX. HUF and TWD have two, except in payouts.
 */
function decimalsOf(currency: string): number {
  if (WITHOUT_DECIMALS.includes(currency)) return 0
  return WITH_THREE.includes(currency) ? 3 : 2
}

/** An amount as a decimal text. `currency`: in capitals. */
export const stripeAmount = (units: bigint, currency: string): string => exactDecimal(units, decimalsOf(currency))
