import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { type ChosenUser, createChosenUser, type User } from '../users/user.ts'
import { accountHashesOf } from './account.ts'
import { recordReports } from './record-reports.ts'
import type { Store } from './subscriptions/purchase.ts'

/** A user as an app may have named it to a store. */
export type NamedUser = { id: string; identity: string | null }

type Unowned = { platform: Store; name: string; user: string; is_connected: boolean }

/**
 * Gives new users the lineages without owner that a store has reported with their account. Their events are emitted as those of everything that is found later. Call it
 * last in the transaction that creates the users or their identities, and repeat that after `isReportConflict`.
 */
export async function claimNamed(tx: Tx, environment: Environment, users: NamedUser[]): Promise<void> {
  const named = users.flatMap(({ id, identity }) =>
    [id, ...(identity === null ? [] : [identity])].flatMap(name => accountHashesOf(name).map(hash => ({ id, hash }))),
  )
  if (named.length === 0) return
  const { rows } = await tx.query<Unowned>({
    name: 'lineages-of-accounts',
    text: `select distinct on (l.id) l.platform, l.lineage as name, k.id as user, coalesce(l.is_connected, false) as is_connected
           from unnest($2::text[], $3::text[]) k(id, hash) cross join lateral (
             select * from lineages where environment = $1 and user_id is null and account_hash = k.hash order by account_hash, id limit 100) l
           order by l.id`,
    values: [environment, named.map(({ id }) => id), named.map(({ hash }) => hash)],
  })
  for (const { platform, name: lineage, user: attachTo, is_connected: isConnected } of rows) {
    const report = { platform, lineage, accountId: null, aliases: [], statements: [], notices: [], isWhole: false }
    await recordReports(tx, environment, [report], { isConnected, attachTo })
  }
}

/** Creates a user with an id that the app chose, with what a store has reported of that id; null when the project has the user. */
export async function createNamedUser(tx: Tx, chosen: ChosenUser): Promise<User | null> {
  const made = await createChosenUser(tx, chosen)
  if (made) await claimNamed(tx, chosen.environment, [{ id: made.id, identity: null }])
  return made
}
