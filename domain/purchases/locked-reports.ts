import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { type Lineage, lockLineages } from './lineage.ts'
import type { StoreReport, TransactionIds } from './store-facts/statement.ts'
import { type Store, TARGET_PLATFORM } from './subscriptions/purchase.ts'

/**
 * Reports about one lineage. `younger`: lineages that turned out to be the same one. `isConflict`: the lineages have different owners and
 * stay apart; a report's statements about a transaction that is recorded in another of them are left out.
 */
export type LockedReports = {
  platform: Store
  reports: StoreReport[]
  lineage: Lineage
  younger: Lineage[]
  isConflict: boolean
}

const transactionOf = ({ transaction, order }: TransactionIds) => transaction ?? order

/** The ids of the transactions that a report is about. */
export const transactionsOfReport = ({ statements }: StoreReport): string[] => [
  ...new Set(statements.flatMap(statement => (statement.kind === 'period' ? (transactionOf(statement.ids) ?? []) : []))),
]

type Member = { report: StoreReport; lineages: Lineage[] }

/** Groups of reports that share a name of a lineage, directly or through other reports. */
function groupsOf(members: Member[]): Member[][] {
  const groups: Member[][] = []
  for (const member of members) {
    const ids = new Set(member.lineages.map(({ id }) => id))
    const joined = groups.filter(group => group.some(({ lineages }) => lineages.some(({ id }) => ids.has(id))))
    for (const group of joined) groups.splice(groups.indexOf(group), 1)
    groups.push([...joined.flat(), member])
  }
  return groups
}

const distinct = (lineages: Lineage[]): Lineage[] => [...new Map(lineages.map(one => [one.id, one])).values()].sort((a, b) => a.id - b.id)

function lockedOf(group: Member[]): LockedReports[] {
  const [oldest, ...younger] = distinct(group.flatMap(({ lineages }) => lineages))
  const { platform } = group[0]!.report
  const owners = new Set([oldest!, ...younger].flatMap(({ user_id }) => user_id ?? []))
  if (owners.size <= 1) return [{ platform, reports: group.map(({ report }) => report), lineage: oldest!, younger, isConflict: false }]
  const byLineage = Map.groupBy(group, ({ report, lineages }) => lineages.find(({ name }) => name === report.lineage) ?? lineages[0]!)
  return [...byLineage].map(([lineage, of]) => ({
    platform,
    reports: of.map(({ report }) => report),
    lineage,
    younger: [],
    isConflict: true,
  }))
}

/** Locks the lineages that the reports name, inserted where a store names one for the first time. */
export async function lockReports(tx: Tx, environment: Environment, reports: StoreReport[]): Promise<LockedReports[]> {
  const targets = reports.map(report => ({
    platform: report.platform,
    names: [...new Set([report.lineage, ...report.aliases])],
    transactions: transactionsOfReport(report),
  }))
  const locked = await lockLineages(tx, environment, targets)
  return groupsOf(reports.map((report, i) => ({ report, lineages: locked[i]! }))).flatMap(lockedOf)
}

/** The owner of a group before a claim or an account id gives it one. */
export const ownerOf = ({ lineage, younger }: LockedReports): string | null =>
  [lineage, ...younger].find(({ user_id }) => user_id !== null)?.user_id ?? null

/**
 * Users with posted events of the transactions: the users whom the events name, and the users who have the lineages of these events. The
 * purchases supersede the events, so the facts of these users change.
 */
export async function postedUsersOf(tx: Tx, environment: Environment, platform: Store, transactions: string[]): Promise<string[]> {
  if (transactions.length === 0) return []
  const { rows } = await tx.query<{ id: string }>({
    name: 'posted-for',
    text: `select distinct u.id from unnest($2::text[]) k(key) cross join lateral (
             select user_id, lineage_owner from events
             where environment = $1 and transaction_key = k.key and purchase is null and user_id is not null offset 0) e
           cross join lateral (values (e.user_id), (e.lineage_owner)) u(id) where u.id is not null`,
    values: [environment, transactions.map(transaction => `${TARGET_PLATFORM[platform]}:${transaction}`)],
  })
  return rows.map(({ id }) => id)
}
