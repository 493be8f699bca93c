// Loads Kysely: import values of this file only from `statements.ts`.
import { type RawBuilder, sql } from 'kysely'
import type { Environment } from '../../kernel/environment.ts'
import { PLATFORMS, type Platform } from '../../kernel/platform.ts'
import type { CustomerStatus } from '../../purchases/subscriptions/status.ts'

/** The customers that a list or the metrics are about; a field that is undefined does not restrict them. */
export type CustomerSelection = { search: string | undefined; statuses: CustomerStatus[] | undefined; platforms: Platform[] | undefined }

// Property values have at most 120 bytes, so no value that begins with the prefix sorts after the prefix and 64 of the last code point.
const CEILING = '\u{10FFFF}'.repeat(64)

const PROPERTIES = ['_q_custom_user_id', '_q_email', '_q_name']
/** The prefixes of the transaction keys of events. */
const KEY_PREFIXES = ['', ...PLATFORMS]

/**
 * The ids of the users that a search finds, each once, by one index seek for each place that is searched. Both sides are lowered by the
 * database, each under the collation of its column: JavaScript and Postgres do not agree on every letter.
 */
function foundIds(environment: Environment, search: string): RawBuilder<unknown> {
  const text = sql`${search}::text`
  const lowered = sql`lower(${text} collate "C")`
  const beginsWith = (column: RawBuilder<unknown>, prefix: RawBuilder<unknown>) =>
    sql`lower(${column}) collate "C" >= ${prefix} and lower(${column}) collate "C" < ${prefix} || ${CEILING}::text`
  const ids = (condition: RawBuilder<unknown>) => sql`select id from users where environment = ${environment} and ${condition}`
  const withProperty = (key: string) =>
    sql`properties ? ${sql.lit(key)} and ${beginsWith(sql`(properties ->> ${sql.lit(key)})`, sql`lower(${text})`)}`
  const found = [
    ids(beginsWith(sql`id`, lowered)),
    ids(sql`identity_id is not null and ${beginsWith(sql`identity_id`, lowered)}`),
    ...PROPERTIES.map(key => ids(withProperty(key))),
    sql`select user_id from purchases where environment = ${environment} and platform = any('{app_store,play_store,stripe,paddle}')
       and coalesce(transaction_id, order_id) = ${text} and user_id is not null`,
    sql`select user_id from events where environment = ${environment} and user_id is not null
       and transaction_key = any(${KEY_PREFIXES.map(prefix => `${prefix}:${search}`)}::text[])`,
  ]
  return sql.join(found, sql` union `)
}

/** `users u` with the ids that a search finds, by one seek each: the planner could make a join a scan of all users. */
export const foundUsers = (environment: Environment, search: string): RawBuilder<unknown> =>
  sql`(${foundIds(environment, search)}) found
   cross join lateral (select * from users where users.environment = ${environment} and users.id >= found.id and users.id <= found.id
     order by users.id limit 1) u`

/** The conditions on `status` and `platform`. `status`: the expression that the index of the statement contains. */
export function filters({ statuses, platforms }: CustomerSelection, status: RawBuilder<unknown>): RawBuilder<boolean>[] {
  return [
    ...(statuses ? [sql<boolean>`${status} = any(${statuses}::text[])`] : []),
    ...(platforms ? [sql<boolean>`platform = any(${platforms}::text[])`] : []),
  ]
}
