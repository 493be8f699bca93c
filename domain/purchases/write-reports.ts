import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { accountHash } from './account.ts'
import { type Bought, giveLineage } from './lineage.ts'
import { withLinkedTypes } from './linked.ts'
import { type LockedReports, ownerOf } from './locked-reports.ts'
import { matchPurchases, reportedByCaller } from './match.ts'
import { addAliases, mergeLineages } from './merge-lineages.ts'
import { statedFactsOf } from './purchase-facts.ts'
import { purchasesOfLineage, unmappedProducts } from './record.ts'
import { insertStatements, pruneAnswers, readStatements } from './statements.ts'
import { type FoldedLineage, type FoldedPeriod, foldLineage } from './store-facts/fold.ts'
import { type StatedPeriod, statedPeriods } from './store-facts/stated-period.ts'
import type { Statement } from './store-facts/statement.ts'
import { LAST_MS } from './subscriptions/period.ts'
import type { PurchaseRow } from './subscriptions/purchase.ts'
import { insertStated, updateStated } from './write-facts.ts'

/** What a claim adds to the reports: the claimed transaction, the statements of the caller, the screen that sold it. */
export type ClaimedTransaction = { subject: string; statements: Statement[]; screen: string | null }

/**
 * The result of recording the reports about one lineage. `purchases`: the ids of the recorded transactions by subject. `isConflict`: the
 * store names two lineages with different owners as one. `unpriced`: subjects of transactions that count as free because their price is not
 * stated. `unmapped`: products of the store that no product links. `isComplete`: no period before the last one can be missing. `added`: the
 * subjects of transactions that were recorded for the first time. `bought`: a purchase by another account than the owner's.
 */
export type RecordedLineage = {
  lineage: number
  name: string
  owner: string | null
  isNewOwner: boolean
  purchases: Map<string, string>
  isConflict: boolean
  unpriced: string[]
  unmapped: string[]
  isComplete: boolean
  added: ReadonlySet<string>
  bought: Bought | null
}

export type Writing = { isConnected: boolean; owner: string | null; claimed?: ClaimedTransaction; triggers: boolean }

const iso = (ms: number) => new Date(Math.min(ms, LAST_MS)).toISOString()
const isOfStore = ({ origin }: Statement) => origin !== 'caller'
const latest = (times: number[]) => (times.length === 0 ? null : times.reduce((a, b) => Math.max(a, b)))

/** Writes names, owner and completeness of the lineage. Returns until when the store reported the whole lineage (ms). */
async function writeLineage(
  tx: Tx,
  environment: Environment,
  group: LockedReports,
  { isConnected, owner }: Writing,
): Promise<number | null> {
  const { platform, lineage, younger, reports } = group
  await mergeLineages(
    tx,
    lineage.id,
    younger.map(({ id }) => id),
  )
  const names = reports.flatMap(report => [report.lineage, ...report.aliases]).filter(name => name !== lineage.name)
  await addAliases(tx, environment, platform, lineage.id, names)
  if (owner !== null && ownerOf(group) === null) await giveLineage(tx, lineage.id, owner)
  if (owner === null && ownerOf(group) === null) await keepAccount(tx, lineage.id, reports)
  const times = (of: typeof reports) => of.flatMap(({ statements }) => statements.filter(isOfStore).map(({ statedAt }) => statedAt))
  const [stated, whole] = [latest(times(reports)), latest(times(reports.filter(({ isWhole }) => isWhole)))]
  const { rows } = await tx.query<{ whole_until: number | null }>({
    name: 'follow-lineage',
    text: `update lineages set is_connected = $2, stated_until = greatest(stated_until, $3::timestamptz), whole_until = greatest(whole_until, $4::timestamptz)
           where id = $1 returning (extract(epoch from whole_until) * 1000)::float8 as whole_until`,
    values: [lineage.id, isConnected, stated === null ? null : iso(stated), whole === null ? null : iso(whole)],
  })
  return rows[0]!.whole_until
}

/** Stores the hash of the account that the app named to the store, for a user who is created later. */
async function keepAccount(tx: Tx, lineage: number, reports: LockedReports['reports']): Promise<void> {
  const account = reports.findLast(({ accountId }) => accountId)?.accountId
  if (!account) return
  const text = 'update lineages set account_hash = $2 where id = $1 and account_hash is distinct from $2'
  await tx.query({ name: 'keep-account', text, values: [lineage, accountHash(account)] })
}

type Folded = { folded: FoldedLineage; matched: Map<string, PurchaseRow> }

/** The lineage as all of its statements give it. What callers reported of purchases that the store reports for the first time becomes statements. */
async function fold(tx: Tx, environment: Environment, { lineage, platform }: LockedReports, wholeUntil: number | null): Promise<Folded> {
  const rows = await purchasesOfLineage(tx, lineage.id)
  const stated = async () => {
    const { periods, renewals } = await readStatements(tx, lineage.id)
    return { periods: await withLinkedTypes(tx, environment, platform, statedPeriods(periods)), renewals }
  }
  let statements = await stated()
  const matched = matchPurchases(rows, statements.periods)
  const callers = [...matched].filter(([, row]) => row.verified_at === null)
  if (callers.length > 0) {
    await insertStatements(
      tx,
      environment,
      lineage.id,
      callers.flatMap(([subject, row]) => reportedByCaller(row, subject)),
      [],
    )
    statements = await stated()
  }
  const isOther = await inOtherLineages(tx, environment, lineage.id, platform, statements.periods)
  const own = statements.periods.filter(({ subject }) => !isOther.has(subject))
  return { folded: foldLineage(platform, own, statements.renewals, wholeUntil), matched }
}

/** The subjects of transactions that are recorded in another lineage: its owner is another user. */
async function inOtherLineages(
  tx: Tx,
  environment: Environment,
  lineage: number,
  platform: string,
  periods: StatedPeriod[],
): Promise<Set<string>> {
  const known = periods.filter(({ ids }) => (ids.transaction ?? ids.order) !== null)
  const { rows } = await tx.query<{ subject: string }>({
    name: 'in-other-lineages',
    text: `select k.subject from unnest($4::text[], $5::text[]) k(subject, transaction) cross join lateral (
             select lineage from purchases where environment = $1 and platform = $2 and coalesce(transaction_id, order_id) = k.transaction
             limit 1) p where p.lineage <> $3`,
    values: [environment, platform, lineage, known.map(({ subject }) => subject), known.map(({ ids }) => ids.transaction ?? ids.order)],
  })
  return new Set(rows.map(({ subject }) => subject))
}

/**
 * Records what stores reported of one lineage: names, owner, statements, and the purchases that follow from all statements together. The lineages and
 * the users concerned are locked. Nothing is derived yet and no event emitted: `refold` of the owner does that.
 */
export async function writeReports(tx: Tx, environment: Environment, group: LockedReports, writing: Writing): Promise<RecordedLineage> {
  const { lineage, platform, reports, isConflict } = group
  const { claimed, triggers } = writing
  const owner = ownerOf(group) ?? writing.owner
  const wholeUntil = await writeLineage(tx, environment, group, writing)
  const statements = [...reports.flatMap(report => report.statements), ...(claimed?.statements ?? [])]
  const fresh = await insertStatements(
    tx,
    environment,
    lineage.id,
    statements,
    reports.flatMap(({ notices }) => notices),
  )
  if (statements.some(({ origin }) => origin === 'api')) await pruneAnswers(tx, lineage.id)
  const { folded, matched } = await fold(tx, environment, group, wholeUntil)
  const isNamed = (period: FoldedPeriod, name: string) => period.subject === name || period.aliases.includes(name)
  const periods = folded.periods.filter(period => period.isOfStore)
  const facts = periods.map(period => {
    const row = matched.get(period.subject)
    const screen = claimed && isNamed(period, claimed.subject) ? claimed.screen : null
    const isReported = [period.subject, ...period.aliases].some(name => fresh.has(name))
    return { period, row, isReported, purchase: { ...statedFactsOf(period, row), screen_id: screen } }
  })
  // A claim may name the lineage by any of these names.
  await addAliases(
    tx,
    environment,
    platform,
    lineage.id,
    periods.flatMap(({ aliases }) => aliases),
  )
  const added = await insertStated(
    tx,
    { environment, lineage: lineage.id, platform, owner, triggers },
    facts.flatMap(({ row, purchase }) => (row ? [] : [purchase])),
  )
  await updateStated(
    tx,
    facts.flatMap(({ row, isReported, purchase }) => (row ? [{ ...purchase, id: row.id, is_reported: isReported }] : [])),
  )
  await tx.query({
    name: 'complete-lineage',
    text: 'update lineages set complete_until = $2 where id = $1 and complete_until is distinct from $2::timestamptz',
    values: [lineage.id, folded.completeUntil === null ? null : iso(folded.completeUntil)],
  })
  const ids = new Map([...facts.flatMap(({ row, period }) => (row ? [[period.subject, String(row.id)] as const] : [])), ...added])
  return {
    lineage: lineage.id,
    name: lineage.name,
    owner,
    isNewOwner: owner !== null && ownerOf(group) === null,
    purchases: new Map(periods.flatMap(one => [one.subject, ...one.aliases].map(name => [name, ids.get(one.subject)!] as const))),
    isConflict,
    unpriced: periods.filter(({ isPriceKnown }) => !isPriceKnown).map(({ subject }) => subject),
    unmapped: await unmappedProducts(tx, lineage.id),
    isComplete: folded.periods.every(({ begins }) => folded.completeUntil !== null && Date.parse(begins) <= folded.completeUntil),
    added: new Set(added.map(([subject]) => subject)),
    bought: null,
  }
}
