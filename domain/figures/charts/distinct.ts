import { type AttributeCode, attributeOf, type ColumnAttribute, isColumn } from '../attributes.ts'
import { type Grid, intervalSql, sinceStartSql, type TimeWindow } from '../buckets.ts'
import { conditionsOf, type Restriction } from '../restriction.ts'
import type { Frame } from './frame.ts'
import { RESTRICTS_ACTIVE_USERS } from './measure.ts'
import { scanRelations } from './scan.ts'
import type { ScanContext } from './scan-rows.ts'
import { ALL, type Division, UNDIVIDED } from './tally.ts'

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

/** Attributes that a user has, not a transaction: they restrict all transactions of a user or none. */
const isOfUser = (code: AttributeCode): boolean => {
  const attribute = attributeOf(code)!
  return isColumn(attribute) && attribute.columns.oneSided
}

/** Whether a transaction that is restricted away can be the one before another that is not. */
const isOfWholeUsers = ({ words, segment }: Restriction): boolean => segment === undefined && [...words.keys()].every(isOfUser)

/** A count in each interval of a frame's grid, in the window before, and in the window. */
export type FrameCounts = { at: bigint[]; before: bigint; window: bigint }

/** The intervals of the grid that are no whole window themselves. */
const partsOfWindows = ({ grid: { starts, end }, lead }: Frame): Grid => ({ starts: lead === 1 ? starts.slice(1) : starts, end })

const longestOf = ({ starts, end }: Grid): number => Math.max(...starts.map((start, i) => (starts[i + 1] ?? end) - start))

/**
 * How many payments of each interval and window follow another one of the same user in it: what is left are the users. A payment knows the one before
 * it, so that no set of users is needed. Null: some transactions of a user are restricted away, or divided from the others.
 */
export async function repeatedPayments(context: ScanContext, frame: Frame, division: Division): Promise<FrameCounts | null> {
  const { source, restriction, now } = context
  if (division !== UNDIVIDED || !isOfWholeUsers(restriction)) return null
  const { divide, small, sincePaid } = source.dialect
  const { from, where, happened } = payers(context)
  const relations = scanRelations(context)
  const within = ({ from: first, to }: TimeWindow) => [...where, `${happened} >= ${first}`, `${happened} < ${Math.min(to, now + 1)}`]
  const inWindow = async (window: TimeWindow): Promise<bigint> => {
    const conditions = [...within(window), `t.paid_before >= ${window.from}`]
    const rows = await source.query({ text: `select count(*) as payments from ${from} where ${conditions.join(' and ')}`, relations })
    return rows[0]!.payments as bigint
  }
  const before = await inWindow(frame.before)
  const window = await inWindow(frame.window)
  const parts = partsOfWindows(frame)
  // The first condition spares most rows the second one.
  const conditions = [
    ...within({ from: parts.starts[0]!, to: parts.end }),
    `${sincePaid('t')} < ${longestOf(parts)}`,
    `${sincePaid('t')} <= ${sinceStartSql(happened, parts, divide)}`,
  ]
  const rows = await source.query({
    text: `select ${small(intervalSql(happened, parts, divide), parts.starts.length)} as interval, count(*) as payments from ${from}
      where ${conditions.join(' and ')} group by 1`,
    relations,
  })
  const at = parts.starts.map(() => 0n)
  for (const { interval, payments } of rows) at[Number(interval)] = payments as bigint
  return { at: frame.lead === 1 ? [before, ...at] : at, before, window }
}

/** Counts different users in each interval and window, by the numbers of the division. A number without users has no entry. */
export async function countUsers(
  context: ScanContext,
  which: 'payers' | 'active users',
  frame: Frame,
  division: Division,
): Promise<Map<number, FrameCounts>> {
  const { grid, before, window } = frame
  const windows = [before, window].map(({ from, to }): Grid => ({ starts: [from], end: to }))
  const isOfPayers = which === 'payers'
  const [rows, ...rowsOfWindows] = isOfPayers
    ? [payers(context), ...windows.map(() => payers(context))]
    : await Promise.all([grid, ...windows].map(one => activeUsers(context, one, division)))
  const at = await countIn(context, rows!, grid, division)
  const inWindows: Map<number, bigint[]>[] = []
  for (const [i, one] of windows.entries()) inWindows.push(await countIn(context, rowsOfWindows[i]!, one, division))
  const numbers = new Set([at, ...inWindows].flatMap(counts => [...counts.keys()]))
  return new Map(
    [...numbers].map(number => {
      const [inBefore, inWindow] = inWindows.map(counts => counts.get(number)?.[0] ?? 0n)
      return [number, { at: at.get(number) ?? grid.starts.map(() => 0n), before: inBefore!, window: inWindow! }]
    }),
  )
}

/** How many different users there were in each interval, by the numbers of the division. */
async function countIn(
  context: ScanContext,
  { from, where, user, happened, previous }: Occurrences,
  grid: Grid,
  division: Division,
): Promise<Map<number, bigint[]>> {
  const { source, now } = context
  const { starts, end } = grid
  const { divide, small } = source.dialect
  const isOne = starts.length === 1
  const keys = [
    ...(division === UNDIVIDED ? [] : [`${division.sql} as number`]),
    ...(isOne ? [] : [`${small(intervalSql(happened, grid, divide), starts.length)} as interval`]),
  ]
  // Where rows know the one before of the same user, the first one of each interval counts.
  const isFirst = isOne ? `${previous} < ${starts[0]!}` : `${happened} - ${previous} > ${sinceStartSql(happened, grid, divide)}`
  const conditions = [
    ...where,
    `${happened} >= ${starts[0]!}`,
    `${happened} < ${Math.min(end, now + 1)}`,
    ...(previous === null ? [] : [isFirst]),
  ]
  const rows = await source.query({
    text: `select ${[...keys, `${previous === null ? `count(distinct ${user})` : 'count(*)'} as users`].join(', ')} from ${from}${division.joins}
      where ${conditions.join(' and ')}${keys.length === 0 ? '' : ` group by ${keys.map((_, i) => i + 1).join(', ')}`}`,
    relations: [...scanRelations(context), ...division.relations],
  })
  const counts = new Map<number, bigint[]>()
  for (const row of rows) {
    const number = row.number === undefined ? ALL : Number(row.number)
    const one = counts.get(number) ?? starts.map(() => 0n)
    counts.set(number, one)
    one[isOne ? 0 : Number(row.interval)] = row.users as bigint
  }
  return counts
}
