import { type ProceedsRates, SHARE_PLACES } from '../../events/money.ts'
import { PLATFORMS } from '../../platform.ts'
import { PER_UNIT, PER_UNIT_OF_PROCEEDS } from '../charts/money.ts'
import { type Exchange, factorKey, GIVEN_USD, hasFactor } from '../factors.ts'
import type { FactSource } from '../source.ts'
import type { MoneyAsked } from './question.ts'

/**
 * How the paid transactions `t` are converted. `join`: SQL that adds the factors `f`. `value`: SQL for the money of a transaction, of which
 * `perUnit` are one unit of the target currency; null, as the factor, where it cannot be converted.
 */
export type PaidMoney = { join: string; value: string; perUnit: bigint }

const WHOLE_SHARE = 10 ** SHARE_PLACES

/** The share of a platform that counts where no proceeds are stated. What has no platform has no commission. */
async function shareSql(source: FactSource, rates: ProceedsRates): Promise<string> {
  const numbers = await source.numbersOf([...PLATFORMS])
  const cases = PLATFORMS.flatMap(platform => {
    const number = numbers.get(platform)
    const { recurring, loyal, oneTime } = rates[platform]
    if (number === undefined) return []
    return [`when ${number} then case when t.subscription is null then ${oneTime} when t.is_loyal then ${loyal} else ${recurring} end`]
  })
  return cases.length === 0 ? String(WHOLE_SHARE) : `case t.platform ${cases.join(' ')} else ${WHOLE_SHARE} end`
}

/** a × b ÷ c of numbers that are not negative, half away from zero, as the facts have the parts of stated amounts. */
const partSql = ({ dialect }: FactSource, a: string, b: string, c: string): string =>
  `cast(${dialect.divideWide(`(2 * ${dialect.wide(a)} * ${b} + ${c})`, `(2 * ${dialect.wide(c)})`)} as bigint)`

/**
 * Gross: amounts. Net: proceeds less those of what went back until `now`, as stated or by the share of the platform. In a currency without any
 * rate, the dollars that the sender stated count.
 */
export async function paidMoney(
  source: FactSource,
  exchange: Exchange,
  rates: ProceedsRates,
  { revenue, now }: MoneyAsked & { now: number },
): Promise<PaidMoney> {
  const { wide } = source.dialect
  const isRated = hasFactor('t.currency', exchange)
  const isBack = `t.refunded_at <= ${now}`
  const left = (whole: string, back: string) => `(${whole} - case when ${isBack} then coalesce(${back}, 0) else 0 end)`
  const share = revenue === 'net' ? await shareSql(source, rates) : ''
  const ofShare = (amount: string) => `${wide(amount)} * (${share})`
  const stated = (amount: string) => `${wide(amount)} * ${WHOLE_SHARE}`
  const [own, given, hasGiven] =
    revenue === 'gross'
      ? [wide('t.amount'), wide('t.usd_given'), 't.usd_given is not null']
      : [
          `case when t.proceeds is not null then ${stated(left('t.proceeds', 't.refunded_proceeds'))} else ${ofShare(left('t.amount', 't.refunded'))} end`,
          `case when t.proceeds_usd is not null then ${stated(left('t.proceeds_usd', partSql(source, 't.proceeds_usd', 't.refunded', 't.amount')))}
            else ${ofShare(left('t.usd_given', 't.refunded_usd'))} end`,
          '(t.usd_given is not null or t.proceeds_usd is not null)',
        ]
  return {
    join: `left join ${exchange.factors.name} f on f.key = ${factorKey(`case when ${isRated} then t.currency when ${hasGiven} then ${GIVEN_USD} end`, 't.bought_on', exchange)}`,
    value: `case when ${isRated} then ${own} else ${given} end * f.factor`,
    perUnit: revenue === 'net' ? PER_UNIT_OF_PROCEEDS : PER_UNIT,
  }
}
