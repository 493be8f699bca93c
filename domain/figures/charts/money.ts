import { type ProceedsRates, SHARE_PLACES } from '../../events/money.ts'
import type { Platform } from '../../platform.ts'
import { FACTOR_PLACES } from '../../rates/factors.ts'
import { type Exchange, factorDay, GIVEN_USD } from '../factors.ts'
import type { Dialect } from '../source.ts'

/** Amounts are millionths; a factor of exchange has 15 decimals. */
export const PER_UNIT = 10n ** BigInt(6 + FACTOR_PLACES)
export const PER_UNIT_OF_PROCEEDS = PER_UNIT * 10n ** BigInt(SHARE_PLACES)
/** A monthly amount is a whole number of 336ths. */
export const PER_UNIT_OF_MRR = PER_UNIT * 336n

/** What money is computed with: exchange, shares by the number of the platform's word, and how the driver says it. */
export type MoneySql = { dialect: Dialect; exchange: Exchange; shares: ReadonlyMap<number, ProceedsRates[Platform]> }

/** Joins the factors of the row's currency, and those of USD, for its stated amounts. */
export const factorJoins = (row: string, { exchange }: MoneySql, name = ''): string => {
  const day = factorDay(`${row}.bought_on`, exchange)
  return ` left join factors f${name} on f${name}.currency = ${row}.currency and f${name}.day = ${day}
    left join factors g${name} on g${name}.currency = ${GIVEN_USD} and g${name}.day = ${day}`
}

/** The converted amount of a row; 0 when it cannot be converted. */
export const amountSql = (row: string, { dialect: { wide } }: MoneySql): string =>
  `case when f.factor is not null then ${wide(`${row}.amount`)} * f.factor else coalesce(${wide(`${row}.usd_given`)} * g.factor, 0) end`

/** Whether it has an amount that cannot be converted. */
export const isLeftOut = (row: string): string => `f.factor is null and ${row}.usd_given is null and ${row}.amount <> 0`

/** The share of the amount that the store leaves, in 10^-SHARE_PLACES; without a platform all of it. */
function shareSql(row: string, { shares }: MoneySql): string {
  const whole = 10n ** BigInt(SHARE_PLACES)
  const cases = [...shares].map(
    ([platform, { recurring, loyal, oneTime }]) =>
      `when ${platform} then case when ${row}.subscription is null then ${oneTime} when ${row}.is_loyal then ${loyal} else ${recurring} end`,
  )
  return cases.length === 0 ? String(whole) : `case ${row}.platform ${cases.join(' ')} else ${whole} end`
}

/** The converted proceeds of a row: as stated, else its share. */
export function proceedsSql(row: string, money: MoneySql): string {
  const { wide } = money.dialect
  const whole = 10n ** BigInt(SHARE_PLACES)
  const share = shareSql(row, money)
  return `case when f.factor is not null
    then coalesce(${wide(`${row}.proceeds`)} * ${whole}, ${wide(`${row}.amount`)} * (${share})) * f.factor
    else coalesce(coalesce(${wide(`${row}.proceeds_usd`)} * ${whole}, ${wide(`${row}.usd_given`)} * (${share})) * g.factor, 0) end`
}
