import { type AttributeCode, attributeOf, type ColumnAttribute, isColumn } from '../attributes.ts'
import { type Grid, intervalSql, intervalStartSql } from '../buckets.ts'
import { conditionsOf, type Restriction } from '../restriction.ts'
import type { Frame } from './frame.ts'
import { RESTRICTS_ACTIVE_USERS } from './measure.ts'
import { scanRelations } from './scan.ts'
import { countedRows, type MeasuredSum, measuredCount, type ScanContext } from './scan-rows.ts'
import { type Division, UNDIVIDED } from './tally.ts'

/** Rows of (user_no, happened), of which users are counted once in each interval. */
type Occurrences = { from: string; where: string[]; user: string; happened: string }

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
  }
}

/** Whether an attribute restricts or divides users who are counted whether or not they buy. */
export const isOfActiveUsers = ({ code }: Pick<ColumnAttribute, 'code'>): boolean => RESTRICTS_ACTIVE_USERS.includes(code)

/** Users who were created, or had an event or a transaction. */
export async function activeUsers({ source, restriction, now }: ScanContext, { starts, end }: Grid): Promise<Occurrences> {
  const { tables } = source.dialect
  const window = { from: starts[0]!, to: Math.min(end, now + 1) }
  const within = (time: string) => `${time} >= ${window.from} and ${time} < ${window.to}`
  const occurrences = await source.occurrences(window, true)
  const column = (code: string) => {
    const attribute = attributeOf(code)!
    return isColumn(attribute) && isOfActiveUsers(attribute) ? `u.${attribute.columns.user}` : null
  }
  return {
    from: `(select o.user_no, o.happened from ${occurrences} o
      union all select c.user_no, c.created from ${tables.users} c where ${within('c.created')}
      union all select t.user_no, t.happened from ${tables.transactions} t where t.kind between 1 and 5 and ${within('t.happened')}) a
      join ${tables.users} u on u.user_no = a.user_no`,
    where: conditionsOf(restriction, 'a.user_no', column),
    user: 'a.user_no',
    happened: 'a.happened',
  }
}

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
  { source: { dialect }, restriction }: ScanContext,
  { grid, before, window }: Pick<Frame, 'grid' | 'before' | 'window'>,
  division: Division,
): [inInterval: MeasuredSum, inWindow: MeasuredSum] | null {
  if (division !== UNDIVIDED || !isOfWholeUsers(restriction)) return null
  const since = (start: string) => measuredCount(countedRows(`coalesce(t.paid_before, 0) < ${start}`))
  return [
    since(intervalStartSql('t.happened', grid, dialect.divide)),
    since(`case when t.happened < ${window.from} then ${before.from} else ${window.from} end`),
  ]
}

/** How many different users there were in each interval, by the numbers of the division. */
export async function distinctUsers(
  context: ScanContext,
  which: 'payers' | 'active users',
  grid: Grid,
  division: Division,
): Promise<Map<number, bigint[]>> {
  const { from, where, user, happened } = which === 'payers' ? payers(context) : await activeUsers(context, grid)
  const { source, now } = context
  const conditions = [...where, `${happened} >= ${grid.starts[0]!}`, `${happened} < ${Math.min(grid.end, now + 1)}`]
  const text = `select x.number, x.interval, count(distinct x.user_no) as users from (
    select ${division.sql} as number, ${intervalSql(happened, grid, source.dialect.divide)} as interval, ${user} as user_no
    from ${from}${division.joins} where ${conditions.join(' and ')}) x group by x.number, x.interval`
  const rows = await source.query({ text, relations: [...scanRelations(context), ...division.relations] })
  const counts = new Map<number, bigint[]>()
  for (const row of rows) {
    const number = Number(row.number)
    const one = counts.get(number) ?? new Array<bigint>(grid.starts.length).fill(0n)
    counts.set(number, one)
    one[Number(row.interval)] = row.users as bigint
  }
  return counts
}
