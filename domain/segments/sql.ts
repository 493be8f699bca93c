import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type RawBuilder, sql } from 'kysely'
import type { Environment } from '../environment.ts'
import { DECIMAL_SQL, isDecimal, upper, versionParts } from './compare.ts'
import type { Comparator, Condition } from './condition.ts'
import { kindOf, type SubscriptionState } from './metrics.ts'
import { systemSegment } from './system.ts'
import { isForever, type TimeValue, timeValue } from './time.ts'
import { truth } from './value.ts'
import { all, experimentSql, flagSql, type Is, type Scope, subscriptionStateSql, textSql, versionSql, when } from './values-sql.ts'

/** A piece of SQL and the values of its parameters. */
export type Statement = { sql: string; parameters: unknown[] }

/** Numbers its parameters from `first`, so that the text can stand in a statement that has some already. */
class Compiler extends PostgresQueryCompiler {
  readonly #first: number
  constructor(first: number) {
    super()
    this.#first = first
  }
  protected override getCurrentParameterPlaceholder(): string {
    return `$${this.#first - 1 + this.numParameters}`
  }
}

/** Composed by Kysely, run by whoever asked for it: nothing here is connected to a database. */
export function compile(expression: RawBuilder<unknown>, first = 1): Statement {
  const builder = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: db => new PostgresIntrospector(db),
      createQueryCompiler: () => new Compiler(first),
    },
  })
  const { sql, parameters } = expression.compile(builder)
  return { sql, parameters: [...parameters] }
}

type Sql<T = unknown> = RawBuilder<T>
type Segments = ReadonlyMap<string, readonly Condition[]>

const FALSE: Is = sql`false`
const OPERATOR = { eq: sql`=`, ne: sql`<>`, gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` }
const ordered = (comparator: Comparator, has: Sql, value: Sql): Is =>
  comparator === 'contains' || comparator === 'not_contains' ? FALSE : sql`${has} ${OPERATOR[comparator]} ${value}`

/** Without a value only what asks for a difference is true. */
const filled = (comparator: Comparator, is: Is): Is =>
  sql`coalesce(${is}, ${comparator === 'ne' || comparator === 'not_contains' ? sql`true` : FALSE})`

function text(comparator: Comparator, has: Sql<string | null>, value: string): Is {
  if (comparator === 'contains') return sql`strpos(${has}, ${value}::text) > 0`
  if (comparator === 'not_contains') return sql`strpos(${has}, ${value}::text) = 0`
  return ordered(comparator, sql`${has} collate "C"`, sql`${value}::text`)
}

function numbersOrText(comparator: Comparator, has: Sql<string | null>, value: string): Is {
  const asText = text(comparator, has, value)
  if (comparator === 'contains' || comparator === 'not_contains' || !isDecimal(value)) return asText
  return sql`case when ${has} ~ ${sql.lit(DECIMAL_SQL)} then ${ordered(comparator, sql`(${has})::numeric`, sql`${value}::numeric`)} else ${asText} end`
}

function startOf(value: TimeValue, now: Sql): Sql {
  if (value.is === 'span') return sql`to_timestamp(${value.span.start}::double precision)`
  if (isForever(value.ago)) return sql`'-infinity'::timestamptz`
  const { months, days, seconds } = value.ago
  const length = sql`make_interval(months => ${months}::int, days => ${days}::int, secs => ${seconds}::double precision)`
  // In a subquery, so that it is worked out once and an index on the column can be used.
  return sql`(select (date_trunc('second', ${now}) at time zone 'UTC' - ${length}) at time zone 'UTC')`
}

function time(comparator: Comparator, has: Sql, text: string, now: Sql): Is {
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

/** Small numbers as int: then `purchases_count = 0` finds its index. */
const integer = (value: string): Sql => (/^-?[0-9]{1,9}$/.test(value) ? sql`${value}::int` : sql`${value}::numeric`)

function enumerated(scope: Scope, metric: string, value: string): Is {
  if (metric === 'subscription_state') return subscriptionStateSql(scope, value as SubscriptionState)
  if (metric === 'target_platform') return filled('eq', text('eq', textSql(metric), value))
  const kind = value === 'prod' ? 'production' : 'sandbox'
  return sql`exists (select 1 from environments v where v.id = ${scope.environment}::int and v.kind = ${kind}::text)`
}

function one({ metric, comparator, value, negate }: Condition, scope: Scope, segments: Segments): Is {
  const kind = kindOf(metric)
  // eq and not negated, or ne and negated: for what is either so or not.
  const same = (comparator === 'eq') !== negate
  const compared = (is: Is) => when(filled(comparator, is), !negate)
  switch (kind) {
    case 'string':
      return compared(text(comparator, textSql(metric), value))
    case 'country':
      return compared(text(comparator, textSql(metric), upper(value)))
    case 'property':
      return compared(numbersOrText(comparator, textSql(metric), value))
    case 'version':
      return compared(ordered(comparator, versionSql(textSql(metric)), sql`${versionParts(value)}::numeric[]`))
    case 'integer':
      return when(ordered(comparator, sql`u.payments_count`, integer(value)), !negate)
    case 'decimal':
      return when(ordered(comparator, sql`u.net_payments_usd`, sql`${value}::numeric`), !negate)
    case 'time':
      return when(time(comparator, metric === 'last_seen' ? sql`u.last_seen_at` : sql`u.created_at`, value, scope.now), !negate)
    case 'enum':
      return when(enumerated(scope, metric, value), same)
    case 'boolean':
      return when(flagSql(scope, metric), same === truth(value))
    case 'experiment':
      return when(experimentSql(scope, sql`x.id = ${value}::text`), same)
    case 'context_key':
      return when(experimentSql(scope, sql`x.context_key = ${value}::text`), same)
    case 'segment': {
      const conditions = systemSegment(value)?.conditions ?? segments.get(value)
      return conditions ? when(all(conditions.map(each => one(each, scope, segments))), same) : FALSE
    }
    case null:
      return FALSE
    default:
      return kind satisfies never
  }
}

/** `now`: the instant of the evaluation, else the environment's clock. `first`: the number of the first parameter, else 1. */
export type MembersOptions = { now?: string; first?: number }

const members = (environment: Environment, conditions: readonly Condition[], segments: Segments, now: string | undefined): Is => {
  const scope = {
    environment,
    now: now === undefined ? sql<string>`(select environment_now(${environment}::int))` : sql<string>`${now}::timestamptz`,
  }
  return all(conditions.map(each => one(each, scope, segments)))
}

/**
 * An expression that is true of the users `u` (an alias of the table users) for whom all conditions are; it does not itself keep to the
 * environment's users. `segments`: the conditions of the own segments that are named (`loadSegments`).
 */
export const membersSql = (
  environment: Environment,
  conditions: readonly Condition[],
  segments: Segments,
  { now, first }: MembersOptions = {},
): Statement => compile(members(environment, conditions, segments, now), first)

/** The ids of all members, as a statement of its own. */
export const memberIdsSql = (
  environment: Environment,
  conditions: readonly Condition[],
  segments: Segments,
  { now, first }: MembersOptions = {},
): Statement =>
  compile(
    sql`select u.id from users u where u.environment = ${environment}::int and ${members(environment, conditions, segments, now)}`,
    first,
  )
