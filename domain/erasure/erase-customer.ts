import { createHash } from 'node:crypto'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { eraseFromExports } from '../exports/erasure.ts'
import { deleteJobs } from '../jobs/sql.ts'
import { notFound } from '../refusal.ts'
import { SUBSCRIPTION_DUE } from '../subscriptions/store.ts'
import { closeIngestion } from '../users/user.ts'
import { eraseJobs } from './erase-jobs.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

// What hangs on the user's row (grants, subscriptions, assignments, pins) goes with it; with a lineage its shares: who shared it has
// nothing to share any more. What the store says of it later begins a lineage without user.
const ERASE = [
  // Who shares a lineage of theirs was answered with its owner's id.
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

/** Every id by which an entry names the person (their own, their identity's) becomes its SHA-256; what they looked like goes. */
const FORGET = `
update audit_log set user_id = $3, before = null, after = null,
  resource_id = case when resource_id is null then null when resource_id = $2 then $3 when resource = 'identity' then encode(sha256(convert_to(resource_id, 'UTF8')), 'hex') else resource_id end
where environment = $1 and user_id = $2`

// A condition may have named the person (`client_uid`). Under the hash it is true for nobody, as it would be from now on anyway.
const HOLDERS = {
  segments: 'conditions',
  remote_configurations: 'segmentation_conditions',
  experiments: 'segmentation_conditions',
  automation_versions: 'data',
}
const without = (column: string) => `replace(${column}::text, to_json($2::text)::text, to_json($3::text)::text)::jsonb`
const names = (column: string) => `strpos(${column}::text, to_json($2::text)::text) > 0`
const UNNAME = [
  ...Object.entries(HOLDERS).map(
    ([table, column]) => `update ${table} set ${column} = ${without(column)} where environment = $1 and ${names(column)}`,
  ),
  `update audit_log set before = ${without('before')}, after = ${without('after')}
   where environment = $1 and resource in ('segment', 'remote_configuration', 'experiment', 'automation') and (${names('before')} or ${names('after')})`,
]

/**
 * Erases a person for good, in one transaction: afterwards no row holds the id. Batches of events that name the user wait for it, or
 * it for them, so that none is stored for somebody who is gone. Stored files follow, as promised runs.
 * Returns the hash that stands for the id in the audit log. Throws `not_found`.
 */
export async function eraseCustomer(tx: Tx, environment: Environment, user: string): Promise<string> {
  await closeIngestion(tx, environment)
  // Lineage before user, as those who record purchases lock them.
  await tx.query('select 1 from lineages where environment = $1 and user_id = $2 order by id for no key update', [environment, user])
  const locked = await tx.query('select 1 from users where environment = $1 and id = $2 for update', [environment, user])
  if (locked.rowCount === 0) throw notFound('customer')
  await eraseJobs(tx, environment, user)
  // Before the user's events go: they tell which files have rows of the user.
  await eraseFromExports(tx, environment, user)
  for (const statement of ERASE) await tx.query(statement, [environment, user])
  const hash = sha256(user)
  for (const statement of [FORGET, ...UNNAME]) await tx.query(statement, [environment, user, hash])
  return hash
}
