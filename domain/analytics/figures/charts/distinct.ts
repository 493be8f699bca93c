import { type AttributeCode, attributeOf, type ColumnAttribute, isColumn } from '../attributes.ts'
import { type Grid, intervalSql, sinceStartSql, type TimeWindow } from '../buckets.ts'
import { conditionsOf, type Restriction } from '../restriction.ts'
import type { Frame } from './frame.ts'
import { RESTRICTS_ACTIVE_USERS } from './measure.ts'
import { totalOf } from './rounding.ts'
import { scanRelations } from './scan.ts'
import type { ScanContext } from './scan-rows.ts'
import { ALL, type Division, UNDIVIDED } from './tally.ts'

/** The columns about the row before of the same user: its time, and how many seconds earlier it was. Null in the first row of a user. */
type Chain = { previous: string; since: string }

/** Rows of users who are counted once in each interval. `chain`: null where rows do not know the row before. */
type Occurrences = { from: string; where: string[]; user: string; happened: string; chain: Chain | null }

/** Users by their paid transactions, as `row`. `which`: SQL for whether a transaction is paid. */
export function payers({ source, restriction }: ScanContext, row = 't', which = [`${row}.kind between 2 and 5`]): Occurrences {
  const column = (code: string) => {
    const attribute = attributeOf(code)!
    return isColumn(attribute) ? `${row}.${attribute.columns.transaction}` : null
  }
  return {
    from: `${source.dialect.tables.transactions} ${row}`,
    where: [...which, ...conditionsOf(restriction, `${row}.user_no`, column)],
    user: `${row}.user_no`,
    happened: `${row}.happened`,
    chain: null,
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
    chain: isChained ? { previous: 'a.previous', since: 'a.since' } : null,
  }
}

/** Attributes of the user and not of the transaction: they restrict all transactions of a user or none. */
const isOfUser = (code: AttributeCode): boolean => {
  const attribute = attributeOf(code)!
  return isColumn(attribute) && attribute.columns.hasOneState
}

/** Whether a transaction that is restricted away can be the one before another that is not. */
const isOfWholeUsers = ({ byAttribute, segment }: Restriction): boolean => segment === undefined && [...byAttribute.keys()].every(isOfUser)

/** A count in each interval of a frame's grid, in the window before, and in the window. */
export type FrameCounts = { at: bigint[]; before: bigint; window: bigint }

/** Counts in the windows from those in the intervals, where each row is counted in one interval alone. */
export const countsOfRows = ({ lead }: Frame, at: bigint[]): FrameCounts => ({
  at,
  before: totalOf(at.slice(0, lead)),
  window: totalOf(at.slice(lead)),
})

export const withoutRepeats = (all: FrameCounts, repeats: FrameCounts): FrameCounts => ({
  at: all.at.map((count, i) => count - repeats.at[i]!),
  before: all.before - repeats.before,
  window: all.window - repeats.window,
})

const whole = ({ from, to }: TimeWindow): Grid => ({ starts: [from], end: to })

/** Counts by the numbers of a division, in each interval of a grid. A number without rows has no entry. */
type Counts = ReadonlyMap<number, bigint[]>
type CountIn = (grid: Grid) => Promise<Counts>

/** Counts in the intervals of a frame. An interval that is the whole window before is counted by itself, which is faster. */
async function countAt(count: CountIn, { grid: { starts, end }, lead, before }: Frame): Promise<Counts> {
  if (lead !== 1) return count({ starts, end })
  const first = await count(whole(before))
  const others = await count({ starts: starts.slice(1), end })
  const none = starts.slice(1).map(() => 0n)
  const numbers = new Set([...first.keys(), ...others.keys()])
  return new Map([...numbers].map(number => [number, [first.get(number)?.[0] ?? 0n, ...(others.get(number) ?? none)]]))
}

/** The same, and counts in both windows: users are counted anew for each interval and window, so the counts cannot be added. */
async function countInFrame(count: CountIn, frame: Frame): Promise<Map<number, FrameCounts>> {
  const at = await countAt(count, frame)
  const before = frame.lead === 1 ? at : await count(whole(frame.before))
  const window = await count(whole(frame.window))
  const numbers = new Set([at, before, window].flatMap(counts => [...counts.keys()]))
  const none = frame.grid.starts.map(() => 0n)
  const one = (counts: Counts, number: number) => counts.get(number)?.[0] ?? 0n
  return new Map([...numbers].map(n => [n, { at: at.get(n) ?? none, before: one(before, n), window: one(window, n) }]))
}

type Counting = { rows: Occurrences; counted: string; only?: (grid: Grid) => string[]; division: Division }

/** Counts the rows of each interval that meet the conditions `only`. */
const counting =
  (context: ScanContext, { rows: { from, where, happened }, counted, only, division }: Counting): CountIn =>
  async grid => {
    const { starts, end } = grid
    const { source, now } = context
    const { divide, small } = source.dialect
    const keys = [
      ...(division === UNDIVIDED ? [] : [`${division.sql} as number`]),
      ...(starts.length === 1 ? [] : [`${small(intervalSql(happened, grid, divide), starts.length)} as interval`]),
    ]
    const conditions = [...where, `${happened} >= ${starts[0]!}`, `${happened} < ${Math.min(end, now + 1)}`, ...(only?.(grid) ?? [])]
    const found = await source.query({
      text: `select ${[...keys, `${counted} as number_of`].join(', ')} from ${from}${division.joins}
      where ${conditions.join(' and ')}${keys.length === 0 ? '' : ` group by ${keys.map((_, i) => i + 1).join(', ')}`}`,
      relations: [...scanRelations(context), ...division.relations],
    })
    const counts = new Map<number, bigint[]>()
    for (const row of found) {
      const number = row.number === undefined ? ALL : Number(row.number)
      const own = counts.get(number) ?? starts.map(() => 0n)
      counts.set(number, own)
      own[Number(row.interval ?? 0n)] = row.number_of as bigint
    }
    return counts
  }

const longestOf = ({ starts, end }: Grid): number => Math.max(...starts.map((start, i) => (starts[i + 1] ?? end) - start))

/** Counts rows that follow another row of the same user in the same interval. Each of the other rows is a different user. */
function countingRepeats(context: ScanContext, rows: Occurrences, { previous, since }: Chain, division: Division): CountIn {
  const only = (grid: Grid) =>
    grid.starts.length === 1
      ? [`${previous} >= ${grid.starts[0]!}`]
      : // The first condition spares most rows the second one.
        [`${since} < ${longestOf(grid)}`, `${since} <= ${sinceStartSql(rows.happened, grid, context.source.dialect.divide)}`]
  return counting(context, { rows, counted: 'count(*)', only, division })
}

/**
 * How many payments of each interval and window follow another payment of the same user in it: the other payments are one for each user. A
 * payment knows the payment before it, so no set of users is needed. Null: some transactions of a user are restricted away, or divided from
 * the others.
 */
export async function repeatedPayments(context: ScanContext, frame: Frame, division: Division): Promise<FrameCounts | null> {
  if (division !== UNDIVIDED || !isOfWholeUsers(context.restriction)) return null
  const chain = { previous: 't.paid_before', since: context.source.dialect.sincePaid('t') }
  // Only a paid transaction has one before.
  const repeats = await countInFrame(countingRepeats(context, payers(context, 't', []), chain, division), frame)
  // Undivided, the count of a window is a row, be it 0.
  return repeats.get(ALL)!
}

/** Counts different users in each interval and window, by the numbers of the division. A number without users has no entry. */
export async function countUsers(
  context: ScanContext,
  which: 'payers' | 'active users',
  frame: Frame,
  division: Division,
): Promise<Map<number, FrameCounts>> {
  const rowsOf = async (grid: Grid) => (which === 'payers' ? payers(context) : activeUsers(context, grid, division))
  const rows = await rowsOf(frame.grid)
  if (rows.chain === null) {
    const distinct = async (grid: Grid) => {
      const own = await rowsOf(grid)
      return counting(context, { rows: own, counted: `count(distinct ${own.user})`, division })(grid)
    }
    return countInFrame(distinct, frame)
  }
  const all = await countAt(counting(context, { rows, counted: 'count(*)', division }), frame)
  const repeats = await countInFrame(countingRepeats(context, rows, rows.chain, division), frame)
  return new Map(
    [...all].map(([number, at]) => {
      const own = repeats.get(number)
      return [number, own ? withoutRepeats(countsOfRows(frame, at), own) : countsOfRows(frame, at)]
    }),
  )
}
