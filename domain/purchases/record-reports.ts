import type { Tx } from '../../store/connect.ts'
import { isLogConflict } from '../events/write.ts'
import { updateTraitsByPurchase } from '../events/write-users.ts'
import type { Environment } from '../kernel/environment.ts'
import { lockUsers } from '../users/user.ts'
import { userOfAccount } from './account.ts'
import { requestAcknowledgements } from './acknowledgement.ts'
import { passToBuyer } from './bought-by-another.ts'
import { isTransactionConflict } from './create.ts'
import { type LockedReports, lockReports, ownerOf, postedUsersOf, transactionsOfReport } from './locked-reports.ts'
import { refold } from './refold.ts'
import type { StoreReport } from './store-facts/statement.ts'
import { lastPurchaseOf } from './subscriptions/last-purchase.ts'
import { TARGET_PLATFORM } from './subscriptions/purchase.ts'
import { type RecordedLineage, writeReports } from './write-reports.ts'

/** A concurrent transaction recorded the same purchase or emitted the same event. A repeat of the whole transaction finds it. */
export const isReportConflict = (error: unknown): boolean => isTransactionConflict(error) || isLogConflict(error)

export type RecordingOptions = {
  isConnected: boolean
  triggers?: boolean
  attachTo?: string
  beforeEmitting?: (recorded: readonly RecordedLineage[]) => Promise<void>
}

/** The first account that a report names and that exists. */
async function accountOf(tx: Tx, environment: Environment, { platform, reports }: LockedReports): Promise<string | null> {
  for (const { accountId } of reports) {
    const user = await userOfAccount(tx, environment, platform, accountId)
    if (user !== null) return user
  }
  return null
}

/**
 * Records the reports of stores, whatever brought them: notifications, refreshes, sweeps. Locks lineages, then users; writes statements,
 * purchases, owners, and everything that is derived from them; appends the due events as its last statement, so call it last in a
 * transaction, and repeat the transaction after `isReportConflict`. A lineage without owner is given to the account that the app named to
 * the store, if there is one, or to `attachTo`, who must exist. Only a new purchase of another account moves a lineage from one user to
 * another (`passToBuyer`). Statements that are known already change nothing. `isConnected`: purchases can be fetched from the store.
 * `beforeEmitting`: further work in the transaction, after the purchases are written and before anything is derived from them; an error
 * undoes the transaction.
 */
export async function recordReports(
  tx: Tx,
  environment: Environment,
  reports: StoreReport[],
  { isConnected, triggers = true, attachTo, beforeEmitting }: RecordingOptions,
): Promise<RecordedLineage[]> {
  const groups = await lockReports(tx, environment, reports)
  const owners = groups.flatMap(group => ownerOf(group) ?? [])
  const accounts: string[] = []
  const posted: string[] = []
  const named = async (group: LockedReports) =>
    attachTo === undefined ? accountOf(tx, environment, group) : ownerOf(group) === null ? attachTo : null
  for (const group of groups) {
    const account = await named(group)
    if (account !== null) accounts.push(account)
    posted.push(...(await postedUsersOf(tx, environment, group.platform, group.reports.flatMap(transactionsOfReport))))
  }
  await lockUsers(tx, environment, attachTo === undefined ? owners : [...owners, attachTo], [...accounts, ...posted])
  const recorded: RecordedLineage[] = []
  for (const group of groups) {
    // Looked up again: the account's user may have been erased before the lock.
    const found = accounts.length > 0 ? await named(group) : null
    const account = found !== null && accounts.includes(found) ? found : null
    const written = await writeReports(tx, environment, group, { isConnected, owner: account, triggers })
    const isOther = account !== null && written.owner !== account && !group.isConflict
    const bought = isOther ? await passToBuyer(tx, environment, written, group, account) : null
    const passed = { ...written, owner: bought?.by === 'transfer' ? bought.account : written.owner, bought }
    recorded.push(passed)
    if (passed.owner !== null) await updateTraitsOf(tx, environment, passed)
  }
  if (isConnected) await requestAcknowledgements(tx, environment, ownedPlayLineages(groups, recorded))
  await beforeEmitting?.(recorded)
  const parties = recorded.flatMap(({ owner, bought }) => [owner, bought?.owner ?? null, bought?.account ?? null])
  const concerned = [...new Set([...parties.filter(user => user !== null), ...posted])].sort()
  if (concerned.length > 0) await refold(tx, environment, concerned)
  return recorded
}

const ownedPlayLineages = (groups: LockedReports[], recorded: RecordedLineage[]): number[] =>
  recorded.flatMap(({ lineage, owner }, i) => (groups[i]!.platform === 'play_store' && owner !== null ? [lineage] : []))

/** The owner's platform and country, by the last period of the lineage. */
async function updateTraitsOf(tx: Tx, environment: Environment, { lineage, owner }: RecordedLineage): Promise<void> {
  const last = await lastPurchaseOf(tx, lineage)
  if (!last || owner === null) return
  await updateTraitsByPurchase(tx, environment, owner, {
    platform: TARGET_PLATFORM[last.platform],
    country: last.country,
    at: last.purchased_at,
  })
}
