import type { Pool, Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { transaction } from '../../store/transaction.ts'
import { foldPosted, isFact } from '../customers/fold-posted.ts'
import { recount } from '../customers/recount.ts'
import { type UserChange, writeUsers } from '../customers/write-users.ts'
import type { Environment } from '../environment.ts'
import { type Entry, toEntry } from '../events/entry.ts'
import type { EventInput, ItemError, ItemResult } from '../events/item.ts'
import { type Known, learn } from '../events/known.ts'
import { findTransactions, findUsers, lookUp } from '../events/look-up.ts'
import { appendEntries } from '../events/write.ts'
import { createIdentifiedUsers, lockUsers } from '../users/user.ts'
import { type Candidate, sortOut } from './sort-out.ts'

/** Gives the newcomers their ids: makes the users, or takes those that a concurrent writer has made meanwhile. */
async function admit(tx: Tx, environment: Environment, candidates: Candidate[]): Promise<void> {
  const newcomers = [...new Set(candidates.flatMap(({ user }) => (user && user.id === '' ? [user] : [])))]
  if (newcomers.length === 0) return
  const made = await createIdentifiedUsers(
    tx,
    environment,
    newcomers.map(user => user.identity_id!),
  )
  const late = newcomers.filter(user => !made.has(user.identity_id!)).map(user => user.identity_id!)
  const found = await findUsers(tx, environment, 'identity_id', late)
  for (const user of newcomers) Object.assign(user, found.get(user.identity_id!) ?? { id: made.get(user.identity_id!) })
}

/** Drops the candidates whose store transaction has begun already, in the log or earlier in the batch. */
async function dropKnownTransactions(
  tx: Tx,
  environment: Environment,
  candidates: Candidate[],
  results: (ItemResult | undefined)[],
  repeats: Map<number, number>,
): Promise<Candidate[]> {
  const keys = candidates.flatMap(c => c.transactionKey ?? [])
  const begun = await findTransactions(tx, environment, keys)
  const first = new Map<string, number>()
  return candidates.filter(({ index, transactionKey: key }) => {
    if (key === null) return true
    const known = begun.get(key)
    const before = first.get(key)
    if (known !== undefined) results[index] = { status: 'duplicate', id: known }
    else if (before !== undefined) repeats.set(index, before)
    else first.set(key, index)
    return known === undefined && before === undefined
  })
}

/** Brings the users up to date with what the entries tell of them; gives those who must be counted anew once the entries are stored. */
async function write(tx: Tx, environment: Environment, entries: Entry[], learned: Map<string, Known>): Promise<string[]> {
  const facts = entries.filter(isFact)
  const changes = new Map<string, UserChange>([...learned].map(([user, known]) => [user, { known }]))
  const users = [...learned.keys(), ...facts.map(entry => entry.user!)]
  if (users.length === 0) return []
  await lockUsers(tx, environment, users)
  const { statuses, added, refunded } = await foldPosted(tx, environment, facts)
  for (const [user, status] of statuses) changes.set(user, { ...changes.get(user), status })
  for (const [user, payments] of added) changes.set(user, { ...changes.get(user), added: payments })
  await writeUsers(tx, environment, changes)
  return refunded
}

async function append(tx: Tx, environment: Environment, items: (EventInput | ItemError)[], triggers: boolean): Promise<ItemResult[]> {
  const look = await lookUp(
    tx,
    environment,
    items.filter((item): item is EventInput => !('code' in item)),
  )
  const { results, repeats, candidates } = sortOut(items, look)
  const fresh = await dropKnownTransactions(tx, environment, candidates, results, repeats)
  await admit(tx, environment, fresh)

  const learned = new Map<string, Known>()
  const entries: Entry[] = []
  for (const { index, item, at, user, platform, transactionKey } of fresh) {
    if (user && learn(user, item, at)) learned.set(user.id, user)
    const entry = toEntry(environment, { item, at, user: user?.id ?? null, platform, transactionKey })
    entries.push(entry)
    results[index] = { status: 'created', id: entry.id }
  }
  for (const [index, first] of repeats) {
    const told = results[first]
    results[index] = told && told.status !== 'rejected' ? { status: 'duplicate', id: told.id } : told
  }
  const refunded = await write(tx, environment, entries, learned)
  if (entries.length > 0) await appendEntries(tx, environment, entries, triggers)
  if (refunded.length > 0) await recount(tx, environment, refunded)
  return results as ItemResult[]
}

/**
 * Stores the good items of a batch in one transaction, in array order, and says of each what became of it. Items that did not pass
 * the description come as their error. `triggers` false: a backfill that starts nothing.
 *
 * Two writers with the same event id or transaction are told apart by the log's unique indexes: the loser's transaction is undone
 * whole (its offsets too) and run again, and then finds the winner's events.
 */
export const appendBatch = (
  pool: Pool,
  environment: Environment,
  items: (EventInput | ItemError)[],
  triggers: boolean,
): Promise<ItemResult[]> => transaction(pool, tx => append(tx, environment, items, triggers), isUniqueViolation)
