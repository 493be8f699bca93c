import { type ProceedsRates, SHARE_PLACES } from '../../events/money.ts'
import type { Platform } from '../../platform.ts'
import { FACTOR_PLACES } from '../../rates/factors.ts'
import { type Exchange, factorKey, GIVEN_USD } from '../factors.ts'
import type { Dialect } from '../source.ts'

/** Amounts are millionths; a factor of exchange has 15 decimals. */
export const PER_UNIT = 10n ** BigInt(6 + FACTOR_PLACES)
export const PER_UNIT_OF_PROCEEDS = PER_UNIT * 10n ** BigInt(SHARE_PLACES)
/** A monthly amount is a whole number of 336ths. */
export const PER_UNIT_OF_MRR = PER_UNIT * 336n

/** What money is computed with: exchange, shares by the number of the platform's word, and how the driver says it. */
export type MoneySql = { dialect: Dialect; exchange: Exchange; shares: ReadonlyMap<number, ProceedsRates[Platform]> }

/** What a row of two sides has before the names of the columns of one. */
export type SideName = '' | 'a_' | 'b_'

/** Joins the factors of the row's currency (`f`), and those of USD (`g`), for its stated amounts. */
export function factorJoins(row: string, { exchange }: MoneySql, side: SideName = ''): string {
  const key = (currency: string) => factorKey(currency, `${row}.${side}bought_on`, exchange)
  return ` left join factors f${side} on f${side}.key = ${key(`${row}.${side}currency`)}
    left join factors g${side} on g${side}.key = ${key(String(GIVEN_USD))}`
}

/** What decides the conversion of a row, as columns by which rows are added up; the sums are converted with `factorJoins`, too. */
export const conversionKeys = (row: string, side: SideName = ''): Record<string, string> => ({
  [`${side}currency`]: `${row}.${side}currency`,
  [`${side}bought_on`]: `${row}.${side}bought_on`,
  [`${side}is_no_usd`]: `${row}.${side}usd_given is null`,
})

/** The converted amount of a row; 0 when it cannot be converted. */
export const amountSql = (row: string, { dialect: { wide } }: MoneySql, side: SideName = ''): string =>
  `case when f${side}.factor is not null then ${wide(`${row}.${side}amount`)} * f${side}.factor
    else coalesce(${wide(`${row}.${side}usd_given`)} * g${side}.factor, 0) end`

/** Whether it has an amount that cannot be converted. */
export const isLeftOut = (row: string, side: SideName = ''): string =>
  `f${side}.factor is null and ${row}.${side}usd_given is null and ${row}.${side}amount <> 0`

/** The share of the amount that the store leaves, in 10^-SHARE_PLACES; without a platform all of it. */
export function shareSql(row: string, { shares }: MoneySql): string {
  const whole = 10n ** BigInt(SHARE_PLACES)
  const cases = [...shares].map(
    ([platform, { recurring, loyal, oneTime }]) =>
      `when ${platform} then case when ${row}.subscription is null then ${oneTime} when ${row}.is_loyal then ${loyal} else ${recurring} end`,
  )
  return cases.length === 0 ? String(whole) : `case ${row}.platform ${cases.join(' ')} else ${whole} end`
}

/** The converted proceeds of a row: as stated, else its share. */
export function proceedsSql(row: string, money: MoneySql, share = shareSql(row, money)): string {
  const { wide } = money.dialect
  const whole = 10n ** BigInt(SHARE_PLACES)
  return `case when f.factor is not null
    then coalesce(${wide(`${row}.proceeds`)} * ${whole}, ${wide(`${row}.amount`)} * (${share})) * f.factor
    else coalesce(coalesce(${wide(`${row}.proceeds_usd`)} * ${whole}, ${wide(`${row}.usd_given`)} * (${share})) * g.factor, 0) end`
}
