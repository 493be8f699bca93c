import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Pseudonyms } from '../../projects/secrets.ts'

/** A device that another user has, too, keeps its id: it still identifies that user. */
const DEVICES_OF_USER = `
select d.id from (
  select device_id as id from users where environment = $1 and id = $2
  union select device_id from events where environment = $1 and user_id = $2) d
where d.id is not null and not exists (select from users o where o.environment = $1 and o.device_id = d.id and o.id <> $2)`

const withPseudonym = (column: string) => `replace(${column}::text, $2, $3)`
const names = (column: string) => `strpos(${column}::text, $2) > 0`

/** Replaces the id of a user ($2) by the pseudonym ($3) everywhere: ids of users are long enough to be found within a text. */
const REPLACE_USER = [
  `update analytics_views set name = ${withPseudonym('name')}, query = ${withPseudonym('query')}::jsonb
   where environment = $1 and (${names('name')} or ${names('query')})`,
  `update analytics_annotations set text = ${withPseudonym('text')} where environment = $1 and ${names('text')}`,
  `update audit_log set before = ${withPseudonym('before')}::jsonb, after = ${withPseudonym('after')}::jsonb
   where environment = $1 and resource in ('analytics_view', 'analytics_annotation') and (${names('before')} or ${names('after')})`,
  `update idempotent_answers set body = ${withPseudonym('body')}
   where environment = $1 and operation in ('v4CreateAnalyticsView', 'v4CreateAnalyticsAnnotation') and ${names('body')}`,
]

const hasDevice = (json: string, path: string) => `(${json} #> '${path}' ?| $2::text[])`
const withoutDevices = (json: string, path: string) => `case when ${hasDevice(json, path)} then jsonb_set(${json}, '${path}', (
  select jsonb_agg(coalesce(($3::text[])[array_position($2::text[], value)], value) order by n)
  from jsonb_array_elements_text(${json} #> '${path}') with ordinality d(value, n))) else ${json} end`

const OF_VIEW = '{filter[device_id][]}'
const OF_ANSWER = '{query,filter[device_id][]}'

/**
 * Replaces ids of devices ($2) by their pseudonyms ($3). A device may have any id, such as the code of a chart, so only filters by devices
 * change.
 */
const REPLACE_DEVICES = [
  `update analytics_views set query = ${withoutDevices('query', OF_VIEW)} where environment = $1 and ${hasDevice('query', OF_VIEW)}`,
  `update audit_log set before = ${withoutDevices('before', OF_ANSWER)}, after = ${withoutDevices('after', OF_ANSWER)}
   where environment = $1 and resource = 'analytics_view' and (${hasDevice('before', OF_ANSWER)} or ${hasDevice('after', OF_ANSWER)})`,
  `update idempotent_answers set body = (${withoutDevices('body::jsonb', OF_ANSWER)})::text
   where environment = $1 and operation = 'v4CreateAnalyticsView' and ${hasDevice('body::jsonb', OF_ANSWER)}`,
]

/**
 * Puts pseudonyms in place of the user's id and of the ids of devices that are the user's alone, in saved views, in annotations, in their audit
 * entries and in the stored answers of their creation. A filter by a pseudonym is true for no user, as it would be for the deleted id. Call this
 * function before the user and its events are deleted.
 */
export async function eraseFromViews(tx: Tx, environment: Environment, user: string, secrets: Pseudonyms): Promise<void> {
  const { rows: devices } = await tx.query<{ id: string }>(DEVICES_OF_USER, [environment, user])
  for (const statement of REPLACE_USER) await tx.query(statement, [environment, user, secrets.pseudonym(user)])
  if (devices.length === 0) return
  const ids = devices.map(({ id }) => id)
  const pseudonyms = ids.map(id => secrets.pseudonym(id))
  for (const statement of REPLACE_DEVICES) await tx.query(statement, [environment, ids, pseudonyms])
}
