import { UNKNOWN } from '../attributes.ts'
import type { TimeWindow } from '../buckets.ts'
import type { ChartKind } from '../chart-table.ts'
import { hasFactor } from '../exchange.ts'
import type { FactSource, FigureRow } from '../source.ts'
import { statesDiffer, statesSql } from './change-states.ts'
import type { ScanCode } from './measure.ts'
import { PER_MILLION, type Quotient } from './rounding.ts'
import { scanOf, scanRelations } from './scan.ts'
import type { Scan, ScanContext } from './scan-rows.ts'

/** Transactions in a currency without any rate, and their amounts in it; separately the refunds of these transactions, and the refunded amounts. */
export type LeftOutMoney = { currency: string; transactions: number; amount: Quotient; refunds: number; refunded: Quotient }

const DAY = 86_400

/** Whether any transaction is in a currency without a rate. */
export async function hasUnrated({ source, money }: ScanContext): Promise<boolean> {
  if (money.exchange.isRated) return false
  const text = `select 1 as one from ${source.dialect.tables.transactions} t where t.amount <> 0 and not (${hasFactor('t.currency', money.exchange)}) limit 1`
  return (await source.query({ text })).length > 0
}

/** Refunds are kept apart. A credit counts as the transaction that it belongs to, unless that one is counted, too. */
const ofTransactions = ({ from }: TimeWindow): string =>
  `count(case when t.kind not in (6, 7) or t.kind = 7 and t.bought_on < ${Math.floor(from / DAY)} then 1 end) as transactions,
  sum(case when t.kind = 6 then 0 else abs(t.amount) end) as amount,
  count(case when t.kind = 6 then 1 end) as refunds, sum(case when t.kind = 6 then t.amount else 0 end) as refunded`

const OF_STATE = 'sum(s.sign) as transactions, sum(s.sign * s.amount) as amount'
const OF_CHANGES = `count(distinct s.subscription) as transactions,
  greatest(sum(case when s.sign = 1 then s.amount else 0 end), sum(case when s.sign = 1 then 0 else s.amount end)) as amount`

const movedStates = ({ source: { dialect } }: ScanContext): string => statesSql(dialect.tables.changes, { only: statesDiffer(dialect) })

/** The amounts that a question could not convert in the window; of a stock, at its end. Ordered by currency. */
export async function unconvertedOf(
  context: ScanContext,
  { code, kind, window }: { code: ScanCode; kind: ChartKind; window: TimeWindow },
): Promise<LeftOutMoney[]> {
  const isOfStates = code === 'monthly' || code === 'movement'
  const scan = code === 'movement' ? scanOf('monthly', { ...context, states: movedStates(context) }) : scanOf(code, context)
  const ofStates = kind === 'stock' ? OF_STATE : OF_CHANGES
  const sums = isOfStates ? ofStates : ofTransactions(window)
  return namedMoney(
    context.source,
    await leftOutRows(context, scan, isOfStates ? 's' : 't', sums, kind === 'stock' ? null : window.from, window.to),
  )
}

/** The same of a scan of transactions. */
export const unconvertedTransactions = async (context: ScanContext, scan: Scan, window: TimeWindow): Promise<LeftOutMoney[]> =>
  namedMoney(context.source, await leftOutRows(context, scan, 't', ofTransactions(window), window.from, window.to))

async function leftOutRows(context: ScanContext, scan: Scan, row: string, sums: string, from: number | null, to: number) {
  const { source, now } = context
  const where = [
    ...scan.where,
    `(${scan.leftOut}) <> 0`,
    `${scan.happened} < ${Math.min(to, now + 1)}`,
    ...(from === null ? [] : [`${scan.happened} >= ${from}`]),
  ]
  const text = `select ${row}.currency, ${sums} from ${scan.from} where ${where.join(' and ')} group by ${row}.currency`
  return source.query({ text, relations: scanRelations(context) })
}

/** Rows of (currency, transactions, amount in millionths, and where there may be any, refunds and refunded) with their currencies spelled out, in order; rows without transactions are left out. */
export async function namedMoney(source: FactSource, rows: FigureRow[]): Promise<LeftOutMoney[]> {
  const left = rows.filter(row => row.transactions !== 0n || (row.refunds ?? 0n) !== 0n)
  const texts = await source.textsOf(left.map(row => Number(row.currency)))
  return left
    .map(row => ({
      currency: texts.get(Number(row.currency)) ?? UNKNOWN,
      transactions: Number(row.transactions),
      amount: { top: row.amount as bigint, bottom: PER_MILLION },
      refunds: Number(row.refunds ?? 0n),
      refunded: { top: (row.refunded ?? 0n) as bigint, bottom: PER_MILLION },
    }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1))
}
