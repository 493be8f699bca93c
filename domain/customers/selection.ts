import type { Status, TargetPlatform } from './customer.ts'

/** Which customers a list or the metrics are about; what is undefined does not restrict. */
export type Selection = { search: string | undefined; statuses: Status[] | undefined; platforms: TargetPlatform[] | undefined }

/** Values of a statement in the making; gives the name of each one. */
export type Parameters = { values: unknown[]; add: (value: unknown) => string }

/** `$1` is the environment. */
export function parameters(environment: number): Parameters {
  const values: unknown[] = [environment]
  return { values, add: value => `$${values.push(value)}` }
}

// Property values have at most 120 bytes, so nothing that begins with the prefix comes after the prefix and 64 of the last code point.
const CEILING = '\u{10FFFF}'.repeat(64)

const PROPERTIES = ['_q_custom_user_id', '_q_email', '_q_name']
/** How a key of the events begins that names a transaction. */
const KEY_PLATFORMS = ['', 'iOS', 'Android', 'Stripe', 'Paddle']

/**
 * The ids of the users whom a search finds, each once: one seek of an index for each place to look at. Both sides are lowered by the
 * database, each under the collation of its column: JavaScript and Postgres do not agree on every letter.
 */
function foundIds(search: string, { add }: Parameters): string {
  const text = `${add(search)}::text`
  const ceiling = add(CEILING)
  const begins = (column: string, prefix: string) =>
    `lower(${column}) collate "C" >= ${prefix} and lower(${column}) collate "C" < ${prefix} || ${ceiling}`
  const ids = (condition: string) => `select id from users where environment = $1 and ${condition}`
  return [
    ids(begins('id', `lower(${text} collate "C")`)),
    ids(`identity_id is not null and ${begins('identity_id', `lower(${text} collate "C")`)}`),
    ...PROPERTIES.map(key => ids(`properties ? '${key}' and ${begins(`(properties ->> '${key}')`, `lower(${text})`)}`)),
    `select user_id from purchases where environment = $1 and platform = any('{app_store,play_store,stripe,paddle}')
       and coalesce(transaction_id, order_id) = ${text} and user_id is not null`,
    `select user_id from events where environment = $1 and user_id is not null
       and transaction_key = any(${add(KEY_PLATFORMS.map(platform => `${platform}:${search}`))}::text[])`,
  ].join('\nunion\n')
}

/** `users u` behind the found ids, one seek each: a join could be planned as a walk through all users. */
export const foundUsers = (search: string, parameters: Parameters): string =>
  `(${foundIds(search, parameters)}) found
   cross join lateral (select * from users where users.environment = $1 and users.id = found.id limit 1) u`

/** Conditions on `status` and `platform`. `status` as it stands in the index that the statement walks. */
export function filters({ statuses, platforms }: Selection, { add }: Parameters, status = 'status'): string[] {
  return [
    ...(statuses ? [`${status} = any(${add(statuses)}::text[])`] : []),
    ...(platforms ? [`platform = any(${add(platforms)}::text[])`] : []),
  ]
}
