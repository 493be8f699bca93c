import type { Pool, Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { type rehearsal, transaction } from '../../store/transaction.ts'
import { isScreenEvent } from '../analytics/facts/read-histories.ts'
import { mark, markStored, markUnlocked, markViewers } from '../durable/marks/mark.ts'
import type { Entry } from '../events/entry.ts'
import type { EventInput, ItemError, ItemResult } from '../events/item.ts'
import { findTransactions, type LookUp, lookUp } from '../events/look-up.ts'
import type { UserTraits } from '../events/traits.ts'
import { appendEntries } from '../events/write.ts'
import { writeUsers } from '../events/write-users.ts'
import type { Environment } from '../kernel/environment.ts'
import { HISTORY_MS } from '../kernel/limits.ts'
import { claimNamed } from '../purchases/claim-named.ts'
import { isFact } from '../purchases/subscriptions/posted.ts'
import { lockUsers } from '../users/user.ts'
import { ownersOfPosted } from './lineage-owners.ts'
import { createNewUsers, nameNewcomers } from './new-users.ts'
import { findDurations } from './period-end.ts'
import { type AcceptedItem, prepareEntries } from './prepare-entries.ts'
import { findUnmatched, ownersOfRefunded } from './unmatched-refunds.ts'
import { type NewItem, validateItems } from './validate-items.ts'

/** Whether events start automations, end waits and go to integrations: `true`, unless they are history; `false`, none of them; `always`, history too. */
export type Trigger = boolean | 'always'

/** A server sends times of the environment's clock. An app sends real time, also where the environment's clock runs ahead. */
function isTriggering(item: EventInput, at: number, trigger: Trigger, { now, ahead }: LookUp): boolean {
  if (typeof trigger === 'string') return true
  const recorded = item.ofApp ? now - ahead : now
  return trigger && recorded - at <= HISTORY_MS * 1000
}

/**
 * Stores the valid items of a batch in one transaction, in array order; returns the result of each item. An item that the request's
 * validator refused comes as its error.
 *
 * The unique indexes of the log decide between two writers of one event id or one transaction. The transaction of the slower writer is
 * rolled back as a whole, its offsets included, and is run again: it then finds the events of the faster writer. `run`: `rehearsal` stores
 * nothing.
 */
export const appendBatch = (
  pool: Pool,
  environment: Environment,
  items: (EventInput | ItemError)[],
  trigger: Trigger,
  run: typeof rehearsal = transaction,
): Promise<ItemResult[]> => run(pool, tx => appendItems(tx, environment, items, trigger), isUniqueViolation)

/** The same as a part of a transaction that is repeated after a unique violation. `before` runs when it is known which entries are new. */
export async function appendItems(
  tx: Tx,
  environment: Environment,
  items: (EventInput | ItemError)[],
  trigger: Trigger,
  before: (entries: Entry[]) => Promise<unknown> = async () => {},
): Promise<ItemResult[]> {
  const wellFormed = items.filter((item): item is EventInput => !('code' in item))
  const found = await lookUp(tx, environment, wellFormed)
  const durations = await findDurations(tx, environment, wellFormed)
  const { results, repeats, newItems } = validateItems(items, found, durations)
  const fresh = await dropKnownTransactions(tx, environment, newItems, results, repeats)
  const accepted = fresh.map((one): AcceptedItem => ({ ...one, triggers: isTriggering(one.item, one.at, trigger, found) }))
  const newcomers = nameNewcomers(accepted, found.now)
  const prepared = prepareEntries(environment, accepted, found.now)
  const newUsers = await createNewUsers(tx, environment, newcomers, found.now, prepared)
  const entries = [...prepared.entries.values()]
  const unmatched = await findUnmatched(tx, environment, entries)
  for (const [index, entry] of prepared.entries)
    results[index] = { status: 'created', id: entry.id, triggers: entry.triggers, isUnmatched: unmatched.has(entry) }
  for (const [index, first] of repeats) {
    const result = results[first]
    results[index] = result && result.status !== 'rejected' ? { status: 'duplicate', id: result.id } : result
  }
  const isNew = new Set(newUsers.map(({ id }) => id))
  await updateUsers(tx, environment, entries, prepared.changed, isNew)
  await markChanged(tx, environment, entries, prepared.rooted, isNew)
  await before(entries)
  await claimNamed(tx, environment, newUsers)
  if (entries.length > 0) await appendEntries(tx, environment, entries)
  return results as ItemResult[]
}

/** Drops the items whose store transaction was begun before, by an event of the log or by an earlier item of the batch. */
async function dropKnownTransactions(
  tx: Tx,
  environment: Environment,
  newItems: NewItem[],
  results: (ItemResult | undefined)[],
  repeats: Map<number, number>,
): Promise<NewItem[]> {
  const keys = newItems.flatMap(({ transactionKey }) => transactionKey ?? [])
  const begun = await findTransactions(tx, environment, keys)
  const first = new Map<string, number>()
  return newItems.filter(({ index, transactionKey: key }) => {
    if (key === null) return true
    const known = begun.get(key)
    const before = first.get(key)
    if (known !== undefined) results[index] = { status: 'duplicate', id: known }
    else if (before !== undefined) repeats.set(index, before)
    else first.set(key, index)
    return known === undefined && before === undefined
  })
}

const viewsOf = (entries: Entry[]) => entries.filter(({ user, item }) => user !== null && isScreenEvent(item.event_name))

/**
 * Marks the users whose facts the entries change; their rows are locked. New users are marked already. The figures that are stored with the
 * customer follow from the posted facts, too, and are folded with them: several events of a user are folded once.
 */
async function markChanged(
  tx: Tx,
  environment: Environment,
  entries: Entry[],
  rooted: Set<string>,
  isNew: ReadonlySet<string>,
): Promise<void> {
  const posted = new Set(entries.filter(entry => isFact(entry) && !isNew.has(entry.user!)).map(entry => entry.user!))
  // Once the users of the entries are locked: until then a purchase may pass from one of them to another user.
  const owners = (await ownersOfRefunded(tx, environment, entries)).filter(user => !posted.has(user))
  if (owners.length > 0) await lockUsers(tx, environment, [], owners)
  for (const user of owners) posted.add(user)
  const others = await ownersOfPosted(tx, environment, entries)
  // All marks in one order, the order in which a settlement of lineages writes them.
  if (others.length > 0) await markUnlocked(tx, environment, [...new Set([...posted, ...others])].sort())
  else await markStored(tx, environment, [...posted].sort())
  await mark(tx, environment, [...rooted].filter(user => !posted.has(user)).sort())
  const seen = viewsOf(entries).map(({ user, at }) => ({ user: user!, at: Math.floor(at / 1_000_000) }))
  await markViewers(tx, environment, seen)
}

/** Locks the users whom the entries concern and writes their new traits. No other transaction can see a new user. */
async function updateUsers(
  tx: Tx,
  environment: Environment,
  entries: Entry[],
  changed: Map<string, UserTraits>,
  isNew: ReadonlySet<string>,
): Promise<void> {
  const concerned = [...entries.filter(isFact), ...viewsOf(entries)].map(entry => entry.user!)
  const users = [...changed.keys(), ...concerned].filter(user => !isNew.has(user))
  if (users.length === 0) return
  await lockUsers(tx, environment, users)
  await writeUsers(tx, environment, changed)
}
