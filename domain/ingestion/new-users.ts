import type { Tx } from '../../store/connect.ts'
import { userId } from '../../store/ids.ts'
import { type FoundUser, findUsers } from '../events/look-up.ts'
import { REPORTED_COLUMNS } from '../events/write-users.ts'
import type { Environment } from '../kernel/environment.ts'
import type { NamedUser } from '../purchases/claim-named.ts'
import { isFact } from '../purchases/subscriptions/posted.ts'
import { createIdentifiedUsers, type NewIdentity } from '../users/user.ts'
import { type AcceptedItem, beginningsIn, isLive, type Prepared, prepareEntries } from './prepare-entries.ts'

/** The items about a user who does not exist yet. */
export type Newcomer = { user: FoundUser; items: AcceptedItem[] }

/** Gives each new user of the items an id and the times of a beginning. */
export function nameNewcomers(accepted: AcceptedItem[], now: number): Newcomer[] {
  const byUser = Map.groupBy(
    accepted.filter(({ user }) => user?.id === ''),
    ({ user }) => user!,
  )
  return [...byUser].map(([user, items]) => {
    const isSeenLive = items.some(({ item, triggers }) => isLive(item, triggers))
    const last_seen_at = isSeenLive ? now : (historyOf(items, now)?.last ?? now)
    Object.assign(user, { id: userId(), last_seen_at, is_seen_live: isSeenLive })
    return { user, items }
  })
}

function historyOf(items: AcceptedItem[], now: number): NewIdentity['history'] {
  const beginnings = items.flatMap(beginningsIn)
  if (beginnings.length === 0) return null
  return { first: Math.min(...beginnings), last: Math.min(now, Math.max(...items.map(({ at }) => at))) }
}

/**
 * Creates the users with all traits of the batch in one insert: a later update of the new rows would cost half as much again. Returns the
 * created users. Users whom a concurrent writer created first are looked up, and the traits of the batch are prepared again for them.
 */
export async function createNewUsers(
  tx: Tx,
  environment: Environment,
  newcomers: Newcomer[],
  now: number,
  prepared: Prepared,
): Promise<NamedUser[]> {
  if (newcomers.length === 0) return []
  const isPosted = ({ items }: Newcomer) => items.some(({ index }) => isFact(prepared.entries.get(index)!))
  const identities = newcomers.map(newcomer => ({
    ...newcomer,
    id: newcomer.user.id,
    identity: newcomer.user.identity_id!,
    history: historyOf(newcomer.items, now),
    isSeenLive: newcomer.user.is_seen_live!,
    isPosted: isPosted(newcomer),
  }))
  const created = await createIdentifiedUsers(tx, environment, identities, REPORTED_COLUMNS)
  for (const { user } of newcomers) {
    prepared.changed.delete(user.id)
    prepared.rooted.delete(user.id)
  }
  const late = identities.filter(({ identity }) => !created.has(identity))
  const found = await findUsers(
    tx,
    environment,
    'identity_id',
    late.map(({ identity }) => identity),
  )
  for (const { user, identity } of late) Object.assign(user, found.get(identity))
  const lateUsers = new Set(late.map(({ user }) => user))
  const again = newcomers.flatMap(({ user, items }) => (lateUsers.has(user) ? items : []))
  prepareEntries(environment, again, now, prepared)
  return [...created].map(([identity, id]) => ({ id, identity }))
}
