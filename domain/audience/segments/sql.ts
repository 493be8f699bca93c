import { type RawBuilder, sql } from 'kysely'
import { and, type CompiledSql, compile } from '../../kernel/compose.ts'
import type { Environment } from '../../kernel/environment.ts'
import { DECIMAL_SQL, isDecimal, upper, versionParts } from './compare.ts'
import type { Comparator, Condition } from './condition.ts'
import { type AutoRenewSetting, metricKind, type SubscriptionState } from './metrics.ts'
import { systemSegment } from './system.ts'
import { isForever, type TimeValue, timeValue } from './time.ts'
import { booleanOf } from './value.ts'
import {
  autoRenewSql,
  experimentSql,
  flagSql,
  isOrNot,
  listedSql,
  type Predicate,
  plannedProductSql,
  type Scope,
  subscriptionStateSql,
  textSql,
  versionSql,
} from './values-sql.ts'

type Sql<T = unknown> = RawBuilder<T>
type Segments = ReadonlyMap<string, readonly Condition[]>

const FALSE: Predicate = sql`false`
const OPERATOR = { eq: sql`=`, ne: sql`<>`, gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` }
const compared = (comparator: Comparator, has: Sql, value: Sql): Predicate =>
  comparator === 'contains' || comparator === 'not_contains' ? FALSE : sql`${has} ${OPERATOR[comparator]} ${value}`

/** For a user without a value, only the comparators of difference are true. */
const withoutNull = (comparator: Comparator, predicate: Predicate): Predicate =>
  sql`coalesce(${predicate}, ${comparator === 'ne' || comparator === 'not_contains' ? sql`true` : FALSE})`

function text(comparator: Comparator, has: Sql<string | null>, value: string): Predicate {
  if (comparator === 'contains') return sql`strpos(${has}, ${value}::text) > 0`
  if (comparator === 'not_contains') return sql`strpos(${has}, ${value}::text) = 0`
  return compared(comparator, sql`${has} collate "C"`, sql`${value}::text`)
}

/** A comparator of difference is about all planned products of the user: none of them meets its opposite. */
function plansProduct(scope: Scope, comparator: Comparator, value: string): Predicate {
  const isDifference = comparator === 'ne' || comparator === 'not_contains'
  const opposite = comparator === 'ne' ? 'eq' : comparator === 'not_contains' ? 'contains' : comparator
  return isOrNot(
    plannedProductSql(scope, product => text(opposite, product, value)),
    !isDifference,
  )
}

function numbersOrText(comparator: Comparator, has: Sql<string | null>, value: string): Predicate {
  const asText = text(comparator, has, value)
  if (comparator === 'contains' || comparator === 'not_contains' || !isDecimal(value)) return asText
  return sql`case when ${has} ~ ${sql.lit(DECIMAL_SQL)} then ${compared(comparator, sql`(${has})::numeric`, sql`${value}::numeric`)} else ${asText} end`
}

function startOf(value: TimeValue, now: Sql): Sql {
  if (value.is === 'span') return sql`to_timestamp(${value.span.start}::double precision)`
  if (isForever(value.ago)) return sql`'-infinity'::timestamptz`
  const { months, days, seconds } = value.ago
  const length = sql`make_interval(months => ${months}::int, days => ${days}::int, secs => ${seconds}::double precision)`
  // In a subquery: so the value is computed once and an index on the column can be used.
  return sql`(select (date_trunc('second', ${now}) at time zone 'UTC' - ${length}) at time zone 'UTC')`
}

function time(comparator: Comparator, has: Sql, text: string, now: Sql): Predicate {
  const value = timeValue(text)
  if (!value) return FALSE
  const start = startOf(value, now)
  const end = value.is === 'span' ? sql`to_timestamp(${value.span.end}::double precision)` : sql`(select ${start} + interval '1 second')`
  switch (comparator) {
    case 'eq':
      return sql`(${has} >= ${start} and ${has} < ${end})`
    case 'ne':
      return sql`(${has} < ${start} or ${has} >= ${end})`
    case 'gt':
      return sql`${has} >= ${end}`
    case 'gte':
      return sql`${has} >= ${start}`
    case 'lt':
      return sql`${has} < ${start}`
    case 'lte':
      return sql`${has} < ${end}`
    default:
      return FALSE
  }
}

/** Small numbers as int, so that `purchases_count = 0` can use its index. */
const integer = (value: string): Sql => (/^-?[0-9]{1,9}$/.test(value) ? sql`${value}::int` : sql`${value}::numeric`)

function enumerated(scope: Scope, metric: string, value: string): Predicate {
  if (metric === 'subscription_state') return subscriptionStateSql(scope, value as SubscriptionState)
  if (metric === 'auto_renew') return autoRenewSql(scope, value as AutoRenewSetting)
  if (metric === 'target_platform') return withoutNull('eq', text('eq', textSql(metric), value))
  const kind = value === 'prod' ? 'production' : 'sandbox'
  return sql`exists (select 1 from environments v where v.id = ${scope.environment}::int and v.kind = ${kind}::text)`
}

function conditionSql({ metric, comparator, value, negate }: Condition, scope: Scope, segments: Segments): Predicate {
  const kind = metricKind(metric)
  // For metrics that are true or false: eq and not negated, or ne and negated.
  const isWanted = (comparator === 'eq') !== negate
  const ofText = (predicate: Predicate) => isOrNot(withoutNull(comparator, predicate), !negate)
  switch (kind) {
    case 'string':
      return ofText(text(comparator, textSql(metric), value))
    case 'country':
      return ofText(text(comparator, textSql(metric), upper(value)))
    case 'property':
      return ofText(numbersOrText(comparator, textSql(metric), value))
    case 'version':
      return ofText(compared(comparator, versionSql(textSql(metric)), sql`${versionParts(value)}::numeric[]`))
    case 'planned_product':
      return isOrNot(plansProduct(scope, comparator, value), !negate)
    case 'integer':
      return isOrNot(compared(comparator, sql`u.payments_count`, integer(value)), !negate)
    case 'decimal':
      return isOrNot(compared(comparator, sql`u.net_payments_usd`, sql`${value}::numeric`), !negate)
    case 'time':
      return isOrNot(time(comparator, metric === 'last_seen' ? sql`u.last_seen_at` : sql`u.created_at`, value, scope.now), !negate)
    case 'enum':
      return isOrNot(enumerated(scope, metric, value), isWanted)
    case 'boolean':
      return isOrNot(flagSql(scope, metric), isWanted === booleanOf(value))
    case 'experiment':
      return isOrNot(experimentSql(scope, sql`x.id = ${value}::text`), isWanted)
    case 'context_key':
      return isOrNot(experimentSql(scope, sql`x.context_key = ${value}::text`), isWanted)
    case 'listed':
      return isOrNot(listedSql({ ...scope, isRequired: scope.isRequired && isWanted }, value), isWanted)
    case 'segment': {
      const conditions = systemSegment(value)?.conditions ?? segments.get(value)
      const inside = { ...scope, isRequired: scope.isRequired && isWanted }
      return conditions ? isOrNot(and(conditions.map(each => conditionSql(each, inside, segments))), isWanted) : FALSE
    }
    case null:
      return FALSE
    default:
      return kind satisfies never
  }
}

/**
 * `now`: the instant of the evaluation; the environment's clock by default. `first`: the number of the first parameter; 1 by default. `among`: of
 * these users alone. `isAboutFew`: the statement gives the users itself, and they are few.
 */
type MembersOptions = { now?: string; first?: number; among?: readonly string[] | undefined; isAboutFew?: boolean }

const members = (
  environment: Environment,
  conditions: readonly Condition[],
  segments: Segments,
  { now, among, isAboutFew = false }: MembersOptions,
): Predicate => {
  const scope = {
    environment,
    isRequired: true,
    isAboutFew,
    now: now === undefined ? sql<string>`(select environment_now(${environment}::int))` : sql<string>`${now}::timestamptz`,
  }
  return and([
    ...(among ? [sql<boolean>`u.id = any (${among}::text[])`] : []),
    ...conditions.map(each => conditionSql(each, scope, segments)),
  ])
}

/**
 * An expression that is true for the rows of `users u` that meet all conditions. The caller restricts the rows to the environment.
 * `segments`: the conditions of the own segments that the conditions name (`loadSegments`).
 */
export const membersSql = (
  environment: Environment,
  conditions: readonly Condition[],
  segments: Segments,
  options: MembersOptions = {},
): CompiledSql => compile(members(environment, conditions, segments, options), options.first)

/** A statement that selects the ids of all users who meet the conditions. */
export const memberIdsSql = (
  environment: Environment,
  conditions: readonly Condition[],
  segments: Segments,
  options: MembersOptions = {},
): CompiledSql =>
  compile(
    sql`select u.id from users u where u.environment = ${environment}::int and ${members(environment, conditions, segments, options)}`,
    options.first,
  )
