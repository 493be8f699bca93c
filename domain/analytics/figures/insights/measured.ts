import type { Environment } from '../../../kernel/environment.ts'
import { scanContext } from '../charts/chart.ts'
import { MEASURES, type ScanCode, unitOf } from '../charts/measure.ts'
import { scanOf } from '../charts/scan.ts'
import { counts, type ScanContext } from '../charts/scan-rows.ts'
import { ALL, emptyTally, type Tally, tally } from '../charts/tally.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import type { FigureRow } from '../source.ts'

/** A value of the last period and of the one before. */
export type Pair = { last: bigint; before: bigint }

/**
 * What insights are drawn from. `proceeds`: PER_UNIT_OF_PROCEEDS. `mrr`: of `perUnit`, at the end and at the start of the last period. Trials
 * by the period in which they ended, with what became of them until now. `failing`: of `subscribed`, those with a failed charge, at the end.
 * `churned`: runs with a paid period that ended; `paidAtStart`: subscriptions paid at the start. `paidSoon`: who paid within a week of creation,
 * of those created in the periods a week earlier (`newcomers`). `received`: paid transactions recorded in the last 24 hours, and in the 28 days
 * before these.
 */
export type Measured = {
  users: bigint
  paid: Pair
  refunded: bigint
  proceeds: Pair
  mrr: { end: bigint; start: bigint; perUnit: bigint }
  trialsEnded: Pair
  trialsConverted: Pair
  trialsCancelled: bigint
  failing: bigint
  subscribed: bigint
  churned: Pair
  paidAtStart: Pair
  created: Pair
  newcomers: Pair
  paidSoon: Pair
  received: { lastDay: bigint; before: bigint }
}

export type MeasuredPeriod = { measured: Measured; behind: number }

const DAY = 86_400
const WEEK = 7 * DAY
/** The days that a day without purchases is compared with. */
const USUAL_DAYS = 28

/** Starts of the period before and of the last one, and the end of the last complete UTC day. */
type Periods = { before: number; last: number; end: number }

const periodsOf = (now: number, days: number): Periods => {
  const end = now - (now % DAY)
  return { before: end - 2 * days * DAY, last: end - days * DAY, end }
}

/** Measures the last `days` complete UTC days and as many before them, in USD. */
export const measurePeriod = (access: FactAccess, environment: Environment, now: number, days: number): Promise<MeasuredPeriod> =>
  withFacts(access, environment, async source => {
    const context = await scanContext(access, environment, source, { currency: 'USD', rateDate: null, now, filters: new Map() })
    const periods = periodsOf(now, days)
    const flows = async (code: ScanCode) => pairsOf(await talliesOf(context, code, periods, 'within'))
    const states = async (code: ScanCode) => statesOf(await talliesOf(context, code, periods, 'since ever'))
    const [proceeds, refundedProceeds] = await flows('proceeds')
    const [paid, refunded] = await flows('outcomes')
    const [churned] = await flows('ended')
    const [created] = await flows('created')
    const [mrr] = await states('monthly')
    const [renewing, notRenewing] = await states('standing in paid or grace')
    const measured = {
      paid: paid!,
      refunded: refunded!.last,
      proceeds: { last: proceeds!.last - refundedProceeds!.last, before: proceeds!.before - refundedProceeds!.before },
      churned: churned!,
      created: created!,
      mrr: { end: mrr!.atEnd, start: mrr!.atLast, perUnit: unitOf(MEASURES.mrr, context.products) },
      paidAtStart: { last: renewing!.atLast + notRenewing!.atLast, before: renewing!.atBefore + notRenewing!.atBefore },
      ...(await ofTransactions(context, periods)),
      ...(await ofUsers(context, periods)),
      ...(await failingAt(context, periods.end)),
    }
    return { measured, behind: source.behind }
  })

async function talliesOf(
  context: ScanContext,
  code: ScanCode,
  { before, last, end }: Periods,
  reach: 'within' | 'since ever',
): Promise<Tally> {
  const scan = scanOf(code, context)
  const tallies = await tally(context, scan, { grid: { starts: [before, last], end }, reach })
  return tallies.get(ALL) ?? emptyTally(2, scan.terms.length)
}

const pairsOf = (tally: Tally): Pair[] => tally.map(({ at: [before, last] }) => ({ last: last!, before: before! }))

const statesOf = (tally: Tally) =>
  tally.map(({ before, at: [first, second] }) => ({ atBefore: before, atLast: before + first!, atEnd: before + first! + second! }))

/** SQL: how many rows fulfil the conditions, by name. */
const counted = (conditions: Record<string, string>): string =>
  Object.entries(conditions)
    .map(([name, condition]) => `count(case when ${condition} then 1 end) as ${name}`)
    .join(', ')

const within = (time: string, from: number, to: number) => `${time} >= ${from} and ${time} < ${to}`

const number = (row: FigureRow, name: string) => (row[name] as bigint | null) ?? 0n
const pair = (row: FigureRow, name: string): Pair => ({ last: number(row, `${name}_last`), before: number(row, `${name}_before`) })

async function ofTransactions({ source, now }: ScanContext, { before, last, end }: Periods) {
  const ended = (from: number, to: number, then = 'true') => `t.kind = 1 and ${within('t.ends', from, to)} and ${then}`
  const [isConverted, isCancelled] = [`t.converted_at <= ${now}`, `t.cancelled_at <= ${now}`]
  const received = (from: number, to: number) => `t.kind between 2 and 5 and ${within('t.recorded', from, to)}`
  const [row] = await source.query({
    text: `select ${counted({
      ended_last: ended(last, end),
      ended_before: ended(before, last),
      converted_last: ended(last, end, isConverted),
      converted_before: ended(before, last, isConverted),
      cancelled_last: ended(last, end, isCancelled),
      received_day: received(now + 1 - DAY, now + 1),
      received_before: received(now + 1 - (USUAL_DAYS + 1) * DAY, now + 1 - DAY),
    })} from ${source.dialect.tables.transactions} t where t.happened <= ${now}`,
  })
  return {
    trialsEnded: pair(row!, 'ended'),
    trialsConverted: pair(row!, 'converted'),
    trialsCancelled: number(row!, 'cancelled_last'),
    received: { lastDay: number(row!, 'received_day'), before: number(row!, 'received_before') },
  }
}

async function ofUsers({ source, now }: ScanContext, { before, last, end }: Periods) {
  const isNew = (from: number, to: number) => within('u.created', from - WEEK, to - WEEK)
  const isSoon = `u.first_paid <= ${now} and u.first_paid - u.created <= ${WEEK}`
  const [row] = await source.query({
    text: `select ${counted({
      users: `u.created <= ${now}`,
      new_last: isNew(last, end),
      new_before: isNew(before, last),
      soon_last: `${isNew(last, end)} and ${isSoon}`,
      soon_before: `${isNew(before, last)} and ${isSoon}`,
    })} from ${source.dialect.tables.users} u`,
  })
  return { users: number(row!, 'users'), newcomers: pair(row!, 'new'), paidSoon: pair(row!, 'soon') }
}

/** States: 2 paid, 3 grace, 4 retry. */
async function failingAt({ source, now }: ScanContext, at: number): Promise<Pick<Measured, 'failing' | 'subscribed'>> {
  const countIn = (states: string) =>
    `sum(case when c.a_state in (${states}) then 1 else 0 end - case when c.b_state in (${states}) then 1 else 0 end)`
  const [row] = await source.query({
    text: `select ${countIn('3, 4')} as failing, ${countIn('2, 3, 4')} as subscribed from ${source.dialect.tables.changes} c
      where c.happened < ${at} and ${counts('c', now)}`,
  })
  return { failing: number(row!, 'failing'), subscribed: number(row!, 'subscribed') }
}
