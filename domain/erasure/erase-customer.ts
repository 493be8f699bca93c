import { createHash } from 'node:crypto'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { eraseFromExports } from '../exports/erasure.ts'
import { deleteJobs } from '../jobs/sql.ts'
import { notFound } from '../refusal.ts'
import { SUBSCRIPTION_DUE } from '../subscriptions/store.ts'
import { lockIngestion } from '../users/user.ts'
import { eraseJobs } from './erase-jobs.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

// Foreign keys delete the rows that belong to the user (grants, subscriptions, assignments, pins) with the user, and the shares of a lineage
// with the lineage. A later store notification about a deleted lineage begins a lineage without a user.
const ERASE = [
  // Answers to users who share a lineage of the erased user contain the owner's id.
  `delete from idempotent_answers a using lineages l join lineage_shares h on h.lineage = l.id
   where l.environment = $1 and l.user_id = $2 and a.environment = $1 and a.user_id = h.user_id and position($2 in a.body) > 0`,
  deleteJobs(SUBSCRIPTION_DUE, 'any (array(select id from subscriptions where environment = $1 and user_id = $2))'),
  'delete from events where environment = $1 and user_id = $2',
  'delete from purchases p using lineages l where l.environment = $1 and l.user_id = $2 and p.lineage = l.id',
  'delete from lineages where environment = $1 and user_id = $2',
  'delete from lineage_shares where environment = $1 and user_id = $2',
  'delete from idempotent_answers where environment = $1 and user_id = $2',
  'delete from users where environment = $1 and id = $2',
]

/** Replaces every id by which an audit entry names the user (the user's own, the identity's) by its SHA-256, and deletes the stored states. */
const PSEUDONYMIZE = `
update audit_log set user_id = $3, before = null, after = null,
  resource_id = case when resource_id is null then null when resource_id = $2 then $3 when resource = 'identity' then encode(sha256(convert_to(resource_id, 'UTF8')), 'hex') else resource_id end
where environment = $1 and user_id = $2`

// A condition may name the user (`client_uid`). With the hash in place of the id it is true for no user, as it would be for the deleted id.
const CONDITIONS = {
  segments: 'conditions',
  remote_configurations: 'segmentation_conditions',
  experiments: 'segmentation_conditions',
  automation_versions: 'data',
}
const withHash = (column: string) => `replace(${column}::text, to_json($2::text)::text, to_json($3::text)::text)::jsonb`
const names = (column: string) => `strpos(${column}::text, to_json($2::text)::text) > 0`
const REPLACE_IN_CONDITIONS = [
  ...Object.entries(CONDITIONS).map(
    ([table, column]) => `update ${table} set ${column} = ${withHash(column)} where environment = $1 and ${names(column)}`,
  ),
  `update audit_log set before = ${withHash('before')}, after = ${withHash('after')}
   where environment = $1 and resource in ('segment', 'remote_configuration', 'experiment', 'automation') and (${names('before')} or ${names('after')})`,
]

/**
 * Erases a user for good, in one transaction: afterwards no row contains the id. Batches of events that name the user come wholly before or
 * wholly after the erasure, so that no event is stored for an erased user. Scheduled runs rewrite the stored files. Returns
 * the hash that stands for the id in the audit log. Throws `not_found`.
 */
export async function eraseCustomer(tx: Tx, environment: Environment, user: string): Promise<string> {
  await lockIngestion(tx, environment)
  // Lineages are locked before the user, in the order in which purchases lock them.
  await tx.query('select 1 from lineages where environment = $1 and user_id = $2 order by id for no key update', [environment, user])
  const locked = await tx.query('select 1 from users where environment = $1 and id = $2 for update', [environment, user])
  if (locked.rowCount === 0) throw notFound('customer')
  await eraseJobs(tx, environment, user)
  // Before the user's events are deleted: they tell which files have rows of the user.
  await eraseFromExports(tx, environment, user)
  for (const statement of ERASE) await tx.query(statement, [environment, user])
  const hash = sha256(user)
  for (const statement of [PSEUDONYMIZE, ...REPLACE_IN_CONDITIONS]) await tx.query(statement, [environment, user, hash])
  return hash
}
