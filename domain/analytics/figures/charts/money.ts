import { type ProceedsRates, SHARE_PLACES } from '../../../events/money.ts'
import { PLATFORMS, type Platform } from '../../../kernel/platform.ts'
import { FACTOR_PLACES } from '../../../purchases/rates/factors.ts'
import { type Exchange, factorKey, GIVEN_USD, hasFactor } from '../exchange.ts'
import { SALE_ATTRIBUTION } from '../sale-attribution.ts'
import type { Dialect, FactSource } from '../source.ts'

/** Amounts are millionths; a factor of exchange has 15 decimals. */
export const PER_UNIT = 10n ** BigInt(6 + FACTOR_PLACES)
export const WHOLE_SHARE = 10n ** BigInt(SHARE_PLACES)
export const PER_UNIT_OF_PROCEEDS = PER_UNIT * WHOLE_SHARE

/**
 * The data for computing money: exchange, shares by the number of the platform's word, and the SQL of the driver. `areProceedsStated`:
 * false where it is known that no transaction states its proceeds.
 */
export type MoneySql = {
  dialect: Dialect
  exchange: Exchange
  shares: ReadonlyMap<number, ProceedsRates[Platform]>
  areProceedsStated?: boolean
}

/** The prefix of the columns of one state, in a row that has two. */
export type StatePrefix = '' | 'a_' | 'b_'

/**
 * A whole number by which rows are multiplied. `codes`: SQL for small numbers, or null, by which rows are added up; `valueOf`: what they stand for
 * together. `sql`: the same of one row, for Postgres.
 */
export type Multiplier = { codes: string[]; sql: string; valueOf: (codes: (bigint | null)[]) => bigint }

/** The factor of an amount, or one of its digits. */
export type FactorPart = number | 'whole'

/** Whether a row of transactions or of states states an amount in USD. */
const hasGiven = (row: string, prefix: StatePrefix): string => `${row}.${prefix}usd_given is not null`

/**
 * Joins the factors of the row's currency (`f`). `given`: whether it states amounts in USD. `isOptional`: some rows have no amount on the state, and
 * must not be lost. `currency`: SQL for its number, where it is not that of the state.
 */
export function factorJoins(
  row: string,
  { exchange }: { exchange: Exchange },
  {
    prefix = '',
    given = hasGiven(row, prefix),
    isOptional = false,
    currency = `${row}.${prefix}currency`,
  }: { prefix?: StatePrefix; given?: string; isOptional?: boolean; currency?: string } = {},
): string {
  const key = (of: string) => factorKey(of, `${row}.${prefix}bought_on`, exchange)
  if (exchange.isWhole) {
    const any = exchange.factors.columns[0]!.values[0]!
    const own = isOptional ? `case when ${row}.${prefix}amount is null then ${any} else ${key(currency)} end` : key(currency)
    return ` join ${exchange.factors.name} f${prefix} on f${prefix}.key = ${own}`
  }
  const of = `case when ${hasFactor(currency, exchange)} then ${currency} when ${given} then ${GIVEN_USD} end`
  return ` left join ${exchange.factors.name} f${prefix} on f${prefix}.key = ${key(of)}`
}

/** The parts of a product that are summed, each with its weight: its digits, or the whole where the amounts leave no bits for digits. */
export const factorParts = ({ digits, digitBits }: Exchange): { part: FactorPart; weight: bigint }[] =>
  digits === 0
    ? [{ part: 'whole', weight: 1n }]
    : Array.from({ length: digits }, (_, part) => ({ part, weight: 1n << BigInt(part * digitBits) }))

/** The part of the product of an expression and the factor. It is null where there is no factor. */
export const converted = (expression: string, { dialect: { wide } }: MoneySql, part: FactorPart, prefix: StatePrefix = ''): string =>
  part === 'whole' ? `${wide(expression)} * f${prefix}.factor` : `(${expression}) * f${prefix}.f${part}`

/** `own` where the currency of the row has a rate, else `given` in USD. */
const ifRated = ({ exchange: { isRated } }: MoneySql, own: string, given: string, prefix: StatePrefix = ''): string =>
  isRated ? own : `case when f${prefix}.rated = 1 then ${own} else ${given} end`

/** The amount that is converted: that of the row, else what was stated in USD. */
export const convertibleSql = (row: string, money: MoneySql, prefix: StatePrefix = ''): string =>
  ifRated(money, `${row}.${prefix}amount`, `${row}.${prefix}usd_given`, prefix)

/** The converted amount of a row; null when it cannot be converted. */
export const amountSql = (row: string, money: MoneySql, part: FactorPart, prefix: StatePrefix = ''): string =>
  converted(convertibleSql(row, money, prefix), money, part, prefix)

/** Whether the currency of a row has no rate. */
export const isUnrated = (prefix: StatePrefix = ''): string => `coalesce(f${prefix}.rated, 0) = 0`

/** Whether it has an amount that cannot be converted. */
export const isLeftOut = (row: string, prefix: StatePrefix = ''): string =>
  `${isUnrated(prefix)} and ${row}.${prefix}usd_given is null and ${row}.${prefix}amount <> 0`

/** The amount that is multiplied by the share of `proceedsShare` and converted: the proceeds as stated, else the amount. */
export const proceedsBaseSql = (row: string, money: MoneySql): string =>
  money.areProceedsStated === false
    ? convertibleSql(row, money)
    : ifRated(money, `coalesce(${row}.proceeds, ${row}.amount)`, `coalesce(${row}.proceeds_usd, ${row}.usd_given)`)

/** The shares of the platforms whose words occur. */
export async function sharesOf(source: FactSource, rates: ProceedsRates): Promise<MoneySql['shares']> {
  const numbers = await source.numbersOf([...PLATFORMS])
  return new Map(PLATFORMS.flatMap(platform => (numbers.has(platform) ? [[numbers.get(platform)!, rates[platform]]] : [])))
}

/** The share of a platform that counts where no proceeds are stated, in 10^-SHARE_PLACES: without a platform all of it. */
export function platformShareSql(row: string, { shares, dialect }: Pick<MoneySql, 'shares' | 'dialect'>): string {
  const cases = [...shares].map(
    ([platform, { recurring, loyal, oneTime }]) =>
      `when ${platform} then case ${dialect.attributionSql(row)} when ${SALE_ATTRIBUTION.oneTime} then ${oneTime} when ${SALE_ATTRIBUTION.loyal} then ${loyal} else ${recurring} end`,
  )
  return cases.length === 0 ? String(WHOLE_SHARE) : `case ${row}.platform ${cases.join(' ')} else ${WHOLE_SHARE} end`
}

/** Stands in place of a number of SALE_ATTRIBUTION where proceeds are stated. */
const STATED = 0

/** All of the proceeds that are stated, else the share of the platform. */
export function proceedsShare(row: string, money: MoneySql): Multiplier {
  const isStated = money.areProceedsStated === false ? null : `${ifRated(money, `${row}.proceeds`, `${row}.proceeds_usd`)} is not null`
  const own = money.dialect.attributionSql(row)
  const attributionSql = isStated ? `case when ${isStated} then ${STATED} else ${own} end` : own
  const shareOf = (platform: number, attribution: number): bigint => {
    const shares = money.shares.get(platform)
    if (!shares || attribution === STATED) return WHOLE_SHARE
    return attribution === SALE_ATTRIBUTION.oneTime
      ? shares.oneTime
      : attribution === SALE_ATTRIBUTION.loyal
        ? shares.loyal
        : shares.recurring
  }
  return {
    codes: [attributionSql, `${row}.platform`],
    sql: isStated ? `case when ${isStated} then ${WHOLE_SHARE} else ${platformShareSql(row, money)} end` : platformShareSql(row, money),
    valueOf: ([attribution, platform]) => shareOf(Number(platform), Number(attribution)),
  }
}

/** Whether a transaction states its amount or its proceeds in USD. */
export const hasGivenProceeds = (row: string): string => `(${row}.usd_given is not null or ${row}.proceeds_usd is not null)`
