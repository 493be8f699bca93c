import type { Tx } from '../../../store/connect.ts'
import { eraseFacts } from '../../analytics/facts/fold-users.ts'
import { deleteJobs } from '../../durable/jobs/sql.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'
import { ERASE_FROM_CALLS } from '../../operators/mcp-calls/record.ts'
import type { Pseudonyms } from '../../projects/secrets.ts'
import { eraseQueues } from '../../purchases/store-inbox/queues.ts'
import { CONFIGURATION_OF_STORE } from '../../purchases/stores/config.ts'
import type { Store } from '../../purchases/subscriptions/purchase.ts'
import { releaseLineages } from '../../purchases/subscriptions/release-lineages.ts'
import { SUBSCRIPTION_DUE } from '../../purchases/subscriptions/store.ts'
import { eraseFromExports } from '../../reporting/exports/erasure.ts'
import { lockIngestion } from '../../users/user.ts'
import { eraseJobs } from './erase-jobs.ts'
import { eraseFromViews } from './erase-views.ts'

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

/** The ids of identities that the user's audit entries name. */
const IDENTITIES = `
select distinct resource_id as id from audit_log where environment = $1 and user_id = $2 and resource = 'identity' and resource_id is not null`

/** Replaces every id by which an audit entry names the user (the user's own, the identity's) by its pseudonym, and deletes the stored states. */
const PSEUDONYMIZE = `
update audit_log set user_id = $3, before = null, after = null,
  resource_id = case when resource_id = $2 then $3 when resource = 'identity' then coalesce(($5::text[])[array_position($4::text[], resource_id)], resource_id)
    else resource_id end
where environment = $1 and user_id = $2`

// A condition may name the user (`client_uid`). With the pseudonym in place of the id it is true for no user, as it would be for the deleted id.
const CONDITIONS = {
  segments: 'conditions',
  remote_configurations: 'segmentation_conditions',
  experiments: 'segmentation_conditions',
  automation_versions: 'data',
}
const withPseudonym = (column: string) => `replace(${column}::text, to_json($2::text)::text, to_json($3::text)::text)::jsonb`
const names = (column: string) => `strpos(${column}::text, to_json($2::text)::text) > 0`
const REPLACE_IN_CONDITIONS = [
  ...Object.entries(CONDITIONS).map(
    ([table, column]) => `update ${table} set ${column} = ${withPseudonym(column)} where environment = $1 and ${names(column)}`,
  ),
  `update audit_log set before = ${withPseudonym('before')}, after = ${withPseudonym('after')}
   where environment = $1 and resource in ('segment', 'remote_configuration', 'experiment', 'automation', 'lineage') and (${names('before')} or ${names('after')})`,
]

/** Deletes the notifications of stores about the user's lineages. */
async function eraseNotifications(tx: Tx, environment: Environment, user: string): Promise<void> {
  const { rows } = await tx.query<{ platform: Store; name: string }>(
    `select platform, lineage as name from lineages where environment = $1 and user_id = $2
     union all
     select a.platform, a.name from lineages l join lineage_aliases a on a.lineage = l.id where l.environment = $1 and l.user_id = $2`,
    [environment, user],
  )
  await eraseQueues(
    tx,
    environment,
    rows.map(({ platform, name }) => ({ platform: CONFIGURATION_OF_STORE[platform], name })),
  )
}

/**
 * Erases a user for good, in one transaction: afterwards no row contains the id. Batches of events that name the user come wholly before or
 * wholly after the erasure, so that no event is stored for an erased user. Scheduled runs rewrite the stored files. Returns
 * the pseudonym that stands for the id in the audit log. Throws `not_found`.
 */
export async function eraseCustomer(tx: Tx, environment: Environment, user: string, secrets: Pseudonyms): Promise<string> {
  const pseudonym = secrets.pseudonym(user)
  await lockIngestion(tx, environment)
  // Lineages are locked before the user, in the order in which purchases lock them.
  await tx.query('select 1 from lineages where environment = $1 and user_id = $2 order by id for no key update', [environment, user])
  const locked = await tx.query<{ no: number }>('select no from users where environment = $1 and id = $2 for update', [environment, user])
  if (locked.rowCount === 0) throw notFound('customer')
  await eraseJobs(tx, environment, user)
  await eraseNotifications(tx, environment, user)
  const { no } = locked.rows[0]!
  // Before the user's events are deleted: they tell which files have rows of the user.
  await eraseFromExports(tx, environment, user, pseudonym)
  // Before the events are deleted, too: the events name the user's devices.
  await eraseFromViews(tx, environment, user, secrets)
  await releaseLineages(tx, environment, user)
  for (const statement of ERASE) await tx.query(statement, [environment, user])
  const { rows: identities } = await tx.query<{ id: string }>(IDENTITIES, [environment, user])
  const named = identities.map(({ id }) => id)
  await tx.query(PSEUDONYMIZE, [environment, user, pseudonym, named, named.map(id => secrets.pseudonym(id))])
  await tx.query(ERASE_FROM_CALLS, [environment, user, pseudonym])
  for (const statement of REPLACE_IN_CONDITIONS) await tx.query(statement, [environment, user, pseudonym])
  await eraseFacts(tx, environment, no)
  return pseudonym
}
