import type { Tx } from '../../../store/connect.ts'
import { markUnlocked } from '../../durable/marks/mark.ts'
import { slugsSql } from '../../events/catalogue.ts'
import type { Environment } from '../../kernel/environment.ts'
import { OWNER, POSTED_FACTS } from './posted.ts'

const FACTS = `environment = $1 and purchase is null and user_id is not null and name in (${slugsSql(POSTED_FACTS)})`

// Ordered ranges, and rows by their place: a plan that was made while the environment had no events must not read all of it.
const RELEASE = `
  with others as materialized (
    select ctid as row_id from events where ${FACTS} and ${OWNER} >= $2 and ${OWNER} <= $2 and user_id <> $2 order by ${OWNER}, happened_at
  ), released as (
    update events e set lineage_owner = null from others o where e.ctid = o.row_id returning e.user_id
  )
  select user_id as user from released
  union
  select lineage_owner from (
    select lineage_owner from events where environment = $1 and user_id >= $2 and user_id <= $2 order by user_id, happened_at) e
  where lineage_owner is not null`

/**
 * Call it before a user is erased. Events that other users have posted of the user's lineages belong to these users again. It marks them,
 * and the users who have events of the erased user. The user's row is locked.
 */
export async function releaseLineages(tx: Tx, environment: Environment, user: string): Promise<void> {
  const { rows } = await tx.query<{ user: string }>({ name: 'release-lineages', text: RELEASE, values: [environment, user] })
  await markUnlocked(
    tx,
    environment,
    rows.map(row => row.user),
  )
}
