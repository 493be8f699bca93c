// Composes the statements whose conditions depend on the selection and on the cursor. Loads Kysely: import this file dynamically.
import { type RawBuilder, sql } from 'kysely'
import { and, type CompiledSql, compile } from '../../kernel/compose.ts'
import type { Environment } from '../../kernel/environment.ts'
import { CUSTOMER_ROW_COLUMNS } from './customer.ts'
import { type CustomerCursor, type CustomerPage, type Direction, SORTS, type Sort } from './order.ts'
import { type CustomerSelection, filters, foundUsers } from './selection.ts'

type Sql = RawBuilder<unknown>
type Predicate = RawBuilder<boolean>
type SearchSelection = CustomerSelection & { search: string }

const COLUMNS = sql.raw(CUSTOMER_ROW_COLUMNS)

const beyond = (direction: Direction) => sql.raw(direction === 'asc' ? '>' : '<')

const ordered = ({ value }: Sort, direction: Direction): Sql => sql.raw(`order by ${value} ${direction} nulls last, u.id ${direction}`)

/** The customers that a search finds, sorted; their number bounds the work. */
export function searchStatement(
  environment: Environment,
  selection: SearchSelection,
  { sort: sortBy, direction, limit, offset }: CustomerPage,
  cursor: CustomerCursor | undefined,
): CompiledSql {
  const sort = SORTS[sortBy]
  const key = sql.raw(sort.value)
  const sign = beyond(direction)
  const after = ({ id, value }: CustomerCursor): Predicate =>
    value === null
      ? sql`${key} is null and u.id ${sign} ${id}`
      : sql`((${key}, u.id) ${sign} (${value}::${sql.raw(sort.type)}, ${id}) or ${key} is null)`
  const conditions = [...filters(selection, sql`u.status`), ...(cursor ? [after(cursor)] : [])]
  return compile(sql`select ${COLUMNS} from ${foundUsers(environment, selection.search)}
    where ${and(conditions)} ${ordered(sort, direction)} limit ${limit + 1} offset ${offset}`)
}

/**
 * The customers without a search, along the indexes of the order, range by range. A range is not read when the ranges before it fill the
 * page: the branches of an append run in their order, whereas with `order by` around them all branches would run.
 */
export function walkStatement(
  environment: Environment,
  selection: CustomerSelection,
  { sort: sortBy, direction, limit, offset }: CustomerPage,
  cursor: CustomerCursor | undefined,
): CompiledSql {
  const sort = SORTS[sortBy]
  const key = sql.raw(sort.key)
  const [sign, way] = [beyond(direction), sql.raw(direction)]
  const after = ({ id, value }: CustomerCursor, isConstant: boolean): Predicate =>
    isConstant ? sql`u.id ${sign} ${id}` : sql`(${key}, u.id) ${sign} (${value}::${sql.raw(sort.type)}, ${id})`
  const most = limit + 1 + offset
  const branch = (conditions: Predicate[], isConstant: boolean): Sql =>
    sql`(select * from users u where ${and([sql`u.environment = ${environment}`, ...conditions])}
      order by ${isConstant ? sql`` : sql`${key} ${way}, `}u.id ${way} limit ${most})`

  let branches: Sql[]
  let merge: Sql = sql``
  if (sortBy === 'since' && selection.statuses && !selection.statuses.includes('none')) {
    // Each status has an index by creation; one row in a thousand may be active.
    const rest = [...filters({ ...selection, statuses: undefined }, sql`u.status`), ...(cursor ? [after(cursor, false)] : [])]
    branches = [...new Set(selection.statuses)].map(status => branch([sql`u.status = ${status}`, sql`u.status <> 'none'`, ...rest], false))
    merge = sql`order by ${key} ${way}, u.id ${way}`
  } else {
    const conditions = filters(selection, sortBy === 'status' ? key : sql`u.status`)
    const ranges = sort.ranges(direction)
    const first = cursor ? ranges.findIndex(range => range.contains(cursor.value)) : 0
    branches = ranges.slice(first).map(({ where, isConstant }, i) => {
      const begin = cursor && i === 0 ? [after(cursor, isConstant)] : []
      const parts = where.map(part => branch([sql.raw(part), ...conditions, ...begin], isConstant))
      if (parts.length === 1) return parts[0]!
      return sql`(select * from (${sql.join(parts, sql` union all `)}) u order by u.id ${way} limit ${most})`
    })
  }
  return compile(sql`select ${COLUMNS}
    from (select * from (${sql.join(branches, sql` union all `)}) u ${merge} limit ${limit + 1} offset ${offset}) u
    ${ordered(sort, direction)}`)
}

/** The figures over the selected customers. Amounts are rounded once, at the end, half away from zero. */
export function metricsStatement(environment: Environment, selection: CustomerSelection): CompiledSql {
  const from = selection.search === undefined ? sql`users u` : foundUsers(environment, selection.search)
  const conditions: Predicate[] = [sql`u.environment = ${environment}`, ...filters(selection, sql`u.status`)]
  return compile(sql`
    select count(*) filter (where u.status in ('active', 'canceled')) as active_subscribers,
      count(*) filter (where u.status in ('trial', 'canceled_trial')) as active_trials,
      count(*) filter (where u.status = 'billing_retry') as billing_retry,
      count(*) filter (where u.status = 'canceled_trial') as canceled_trials,
      count(*) filter (where u.status = 'churned') as churned_subscribers,
      count(*) filter (where exists (select from events e where e.environment = ${environment} and e.user_id = u.id)) as clients_with_event,
      coalesce(round(sum(u.payments_count)::numeric / nullif(count(*) filter (where u.payments_count > 0), 0), 2), 0)::float8 as avg_payment_count,
      coalesce(round(sum(u.gross_payments_usd) / nullif(sum(u.converted_payments), 0), 2), 0)::float8 as avg_price,
      coalesce(round(sum(u.net_payments_usd), 2), 0)::float8 as sales
    from ${from} where ${and(conditions)}`)
}
