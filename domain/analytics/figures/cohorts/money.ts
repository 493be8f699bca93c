import type { ProceedsRates } from '../../../events/money.ts'
import {
  amountSql,
  converted,
  factorJoins,
  factorParts,
  hasGivenProceeds,
  isUnrated,
  type MoneySql,
  PER_UNIT,
  PER_UNIT_OF_PROCEEDS,
  platformShareSql,
  sharesOf,
  WHOLE_SHARE,
} from '../charts/money.ts'
import type { Exchange } from '../exchange.ts'
import type { FactSource } from '../source.ts'
import type { RequestedMoney } from './question.ts'

/**
 * How the paid transactions `t` are converted. `join`: SQL that adds the factors `f`. `parts`: SQL for the money of a transaction, of which
 * `perUnit` are one unit of the target currency, as the sum of columns times their weights; null where it cannot be converted. `isMissing`: SQL
 * for whether it cannot be.
 */
export type PaidMoney = { join: string; parts: { sql: string; weight: bigint }[]; isMissing: string; perUnit: bigint }

/** a × b ÷ c of numbers that are not negative, half away from zero, as the facts have the parts of stated amounts. */
const partSql = ({ dialect }: FactSource, a: string, b: string, c: string): string =>
  `cast(${dialect.divideWide(`(2 * ${dialect.wide(a)} * ${b} + ${c})`, `(2 * ${dialect.wide(c)})`)} as bigint)`

/**
 * Gross: amounts. Net: proceeds less those of what went back until `now`, as stated or by the share of the platform. In a currency without any
 * rate, the dollars that the sender stated count.
 */
export const paidMoney = async (
  source: FactSource,
  exchange: Exchange,
  rates: ProceedsRates,
  question: RequestedMoney & { now: number },
): Promise<PaidMoney> => (question.revenue === 'gross' ? gross(source, exchange) : net(source, exchange, rates, question))

const missing = (given: string): string => `t.amount > 0 and ${isUnrated()} and not (${given})`

function gross({ dialect }: FactSource, exchange: Exchange): PaidMoney {
  const money: MoneySql = { dialect, exchange, shares: new Map() }
  return {
    join: factorJoins('t', money),
    parts: factorParts(exchange).map(({ part, weight }) => ({ sql: amountSql('t', money, part), weight })),
    isMissing: missing('t.usd_given is not null'),
    perUnit: PER_UNIT,
  }
}

async function net(source: FactSource, exchange: Exchange, rates: ProceedsRates, { now }: { now: number }): Promise<PaidMoney> {
  const money: MoneySql = { dialect: source.dialect, exchange, shares: await sharesOf(source, rates) }
  const { wide } = source.dialect
  const isBack = `t.refunded_at <= ${now}`
  const left = (whole: string, back: string) => `(${whole} - case when ${isBack} then coalesce(${back}, 0) else 0 end)`
  const share = platformShareSql('t', money)
  const ofShare = (amount: string) => `${wide(amount)} * (${share})`
  const stated = (amount: string) => `${wide(amount)} * ${WHOLE_SHARE}`
  const own = `case when t.proceeds is not null then ${stated(left('t.proceeds', 't.refunded_proceeds'))} else ${ofShare(left('t.amount', 't.refunded'))} end`
  const given = `case when t.proceeds_usd is not null then ${stated(left('t.proceeds_usd', partSql(source, 't.proceeds_usd', 't.refunded', 't.amount')))}
    else ${ofShare(left('t.usd_given', 't.refunded_usd'))} end`
  return {
    join: factorJoins('t', money, { given: hasGivenProceeds('t') }),
    parts: [{ sql: converted(`case when f.rated = 1 then ${own} else ${given} end`, money, 'whole'), weight: 1n }],
    isMissing: missing(hasGivenProceeds('t')),
    perUnit: PER_UNIT_OF_PROCEEDS,
  }
}
