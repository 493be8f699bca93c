import { type AttributeCode, attributeOf, type ColumnAttribute, isColumn } from '../attributes.ts'
import { type Grid, intervalSql, intervalStartSql } from '../buckets.ts'
import { conditionsOf, type Restriction } from '../restriction.ts'
import type { FactSource } from '../source.ts'
import type { Frame } from './frame.ts'
import { RESTRICTS_ACTIVE_USERS } from './measure.ts'
import { scanRelations } from './scan.ts'
import { countedRows, type MeasuredSum, measuredCount, type ScanContext } from './scan-rows.ts'
import { type Division, UNDIVIDED } from './tally.ts'

/** Rows of users who are counted once in each interval. `previous`: the time of the row before of the same user, where rows know it. */
type Occurrences = { from: string; where: string[]; user: string; happened: string; previous: string | null }

/** Users by their paid transactions, as `row`. */
export function payers({ source, restriction }: ScanContext, row = 't'): Occurrences {
  const column = (code: string) => {
    const attribute = attributeOf(code)!
    return isColumn(attribute) ? `${row}.${attribute.columns.transaction}` : null
  }
  return {
    from: `${source.dialect.tables.transactions} ${row}`,
    where: [`${row}.kind between 2 and 5`, ...conditionsOf(restriction, `${row}.user_no`, column)],
    user: `${row}.user_no`,
    happened: `${row}.happened`,
    previous: null,
  }
}

/** Whether an attribute restricts or divides users who are counted whether or not they buy. */
export const isOfActiveUsers = ({ code }: Pick<ColumnAttribute, 'code'>): boolean => RESTRICTS_ACTIVE_USERS.includes(code)

/** Users who were created, or had an event or a transaction; `division`: names their columns as `u`. */
export async function activeUsers({ source, restriction, now }: ScanContext, grid: Grid, division = UNDIVIDED): Promise<Occurrences> {
  const column = (code: string) => {
    const attribute = attributeOf(code)!
    return isColumn(attribute) && isOfActiveUsers(attribute) ? `u.${attribute.columns.user}` : null
  }
  const { table, isChained } = await source.activeTimes(grid, now)
  const where = conditionsOf(restriction, 'a.user_no', column)
  const isPlain = isChained && division === UNDIVIDED && where.length === 0
  return {
    from: `${table} a${isPlain ? '' : ` join ${source.dialect.tables.users} u on u.user_no = a.user_no`}`,
    where,
    user: 'a.user_no',
    happened: 'a.happened',
    previous: isChained ? 'a.previous' : null,
  }
}

/** SQL for the start of the interval, and of the window, in which a time lies. */
const startsSql = (source: FactSource, { grid, before, window }: Frame, time: string): [interval: string, window: string] => [
  intervalStartSql(time, grid, source.dialect.divide),
  `case when ${time} < ${window.from} then ${before.from} else ${window.from} end`,
]

/** Attributes that a user has, not a transaction: they restrict all transactions of a user or none. */
const isOfUser = (code: AttributeCode): boolean => {
  const attribute = attributeOf(code)!
  return isColumn(attribute) && attribute.columns.oneSided
}

/** Whether a transaction that is restricted away can be the one before another that is not. */
const isOfWholeUsers = ({ words, segment }: Restriction): boolean => segment === undefined && [...words.keys()].every(isOfUser)

/**
 * Counts of payments `t` that are the first ones of their users, in their interval of the grid and in their window (`before`, then the grid from
 * `window` on): a payment knows the one before it, so that no set of users is needed. Null: some transactions of a user are restricted away, or
 * divided from the others.
 */
export function firstPayments(
  { source, restriction }: ScanContext,
  frame: Frame,
  division: Division,
): [inInterval: MeasuredSum, inWindow: MeasuredSum] | null {
  if (division !== UNDIVIDED || !isOfWholeUsers(restriction)) return null
  const [inInterval, inWindow] = startsSql(source, frame, 't.happened').map(start =>
    measuredCount(countedRows(`coalesce(t.paid_before, 0) < ${start}`)),
  )
  return [inInterval!, inWindow!]
}

/** How many different users there were in each interval of a frame's grid, in the window before, and in the window. */
export type CountedUsers = { at: bigint[]; before: bigint; window: bigint }

const sum = (counts: bigint[]): bigint => counts.reduce((total, count) => total + count, 0n)

/** Counts users once in each interval and window, by the numbers of the division. A number without users has no entry. */
export async function countUsers(
  context: ScanContext,
  which: 'payers' | 'active users',
  frame: Frame,
  division: Division,
): Promise<Map<number, CountedUsers>> {
  const { source } = context
  const { grid, lead } = frame
  const windows: Grid = { starts: [frame.before.from, frame.window.from], end: frame.window.to }
  const isOfPayers = which === 'payers'
  const ofGrid = isOfPayers ? payers(context) : await activeUsers(context, grid, division)
  const ofWindows = isOfPayers ? ofGrid : await activeUsers(context, windows, division)
  const { happened, previous } = ofGrid
  if (previous) {
    const [inInterval, inWindow] = startsSql(source, frame, happened).map(start => `sum(${countedRows(`${previous} < ${start}`)})`)
    const found = await countIn(context, ofGrid, grid, division, [inInterval!, inWindow!])
    return mapValues(found, ([at, first]) => ({ at: at!, before: sum(first!.slice(0, lead)), window: sum(first!.slice(lead)) }))
  }
  const different = [`count(distinct ${ofGrid.user})`]
  const fine = await countIn(context, ofGrid, grid, division, different)
  const whole = await countIn(context, ofWindows, windows, division, different)
  return mapValues(whole, ([counts], number) => ({ at: fine.get(number)![0]!, before: counts![0]!, window: counts![1]! }))
}

const mapValues = <Of, To>(map: Map<number, Of>, to: (of: Of, number: number) => To): Map<number, To> =>
  new Map([...map].map(([number, of]) => [number, to(of, number)]))

/** Counts of rows in each interval, by the numbers of the division. */
async function countIn(
  context: ScanContext,
  { from, where, happened }: Occurrences,
  { starts, end }: Grid,
  division: Division,
  counts: readonly string[],
): Promise<Map<number, bigint[][]>> {
  const { source, now } = context
  const conditions = [...where, `${happened} >= ${starts[0]!}`, `${happened} < ${Math.min(end, now + 1)}`]
  const text = `select ${division.sql} as number, ${intervalSql(happened, { starts, end }, source.dialect.divide)} as interval,
      ${counts.map((count, i) => `${count} as count${i}`).join(', ')}
    from ${from}${division.joins} where ${conditions.join(' and ')} group by ${division === UNDIVIDED ? 2 : '1, 2'}`
  const rows = await source.query({ text, relations: [...scanRelations(context), ...division.relations] })
  const found = new Map<number, bigint[][]>()
  for (const row of rows) {
    const number = Number(row.number)
    const one = found.get(number) ?? counts.map(() => new Array<bigint>(starts.length).fill(0n))
    found.set(number, one)
    for (const [i, of] of one.entries()) of[Number(row.interval)] = row[`count${i}`] as bigint
  }
  return found
}
