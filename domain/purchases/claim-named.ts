import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Store } from '../subscriptions/purchase.ts'
import { accountsOf } from './account.ts'
import { recordReports } from './record-reports.ts'

/** A user as an app may have named it to a store. */
export type NamedUser = { id: string; identity: string | null }

type Unowned = { platform: Store; name: string; account: string; is_connected: boolean }

/**
 * Gives new users the lineages without owner that a store has told of with their account. They are told as everything that is found later. Call it
 * last in the transaction that creates the users or their identities, and repeat that after `isReportConflict`.
 */
export async function claimNamed(tx: Tx, environment: Environment, users: NamedUser[]): Promise<void> {
  if (users.length === 0) return
  const { rows } = await tx.query<Unowned>({
    name: 'lineages-of-accounts',
    text: `select l.platform, l.lineage as name, l.account, coalesce(l.is_connected, false) as is_connected
           from (select distinct md5(k) as account from unnest($2::text[]) k) k cross join lateral (
             select * from lineages where environment = $1 and user_id is null and account is not null and md5(lower(account)) = k.account
             order by id limit 100) l
           order by l.id`,
    values: [environment, users.flatMap(({ id, identity }) => [...accountsOf(id), ...(identity === null ? [] : accountsOf(identity))])],
  })
  for (const isConnected of [true, false]) {
    const reports = rows
      .filter(row => row.is_connected === isConnected)
      .map(({ platform, name: lineage, account: accountId }) => ({
        ...{ platform, lineage, accountId, aliases: [], statements: [], notices: [], isWhole: false },
      }))
    if (reports.length > 0) await recordReports(tx, environment, reports, { isConnected })
  }
}
