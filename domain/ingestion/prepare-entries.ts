import { type Entry, toEntry } from '../events/entry.ts'
import type { EventInput } from '../events/item.ts'
import type { FoundUser } from '../events/look-up.ts'
import { attributionOf, type UserTraits, updateLastSeen, updateOrigin, updateTraits } from '../events/traits.ts'
import type { Environment } from '../kernel/environment.ts'
import { micros } from '../kernel/time/instant.ts'
import { isFact } from '../purchases/subscriptions/posted.ts'
import { moveBeginning } from '../users/beginning.ts'
import type { NewItem } from './validate-items.ts'

export type AcceptedItem = NewItem & { triggers: boolean }

/** Whether the event shows its user live: an app sent it, however late, or it acts. All other events are history. */
export const isLive = ({ ofApp }: EventInput, triggers: boolean): boolean => triggers || ofApp !== undefined

/**
 * The times (µs) at which the user existed according to the item: the event's time, if the event is history, and the times that the caller
 * states.
 */
export function beginningsIn({ item, at, triggers }: AcceptedItem): number[] {
  const stated = item.created_at === undefined ? [] : [micros(item.created_at)]
  return isLive(item, triggers) ? stated : [at, ...stated]
}

/**
 * Moves the beginnings of users back to the history in the batch, whatever live events the batch has and in whatever order. Returns the
 * users whose beginning moved.
 */
function updateBeginnings(accepted: AcceptedItem[]): Set<FoundUser> {
  const moved = new Set<FoundUser>()
  for (const one of accepted) {
    if (!one.user) continue
    for (const at of beginningsIn(one)) if (moveBeginning(one.user, at)) moved.add(one.user)
  }
  return moved
}

/**
 * The rows that a batch writes: its entries by the index of their item, and the users whose traits it changes, by id. `rooted`: the users
 * whose facts change with their first known traits.
 */
export type Prepared = { entries: Map<number, Entry>; changed: Map<string, UserTraits>; rooted: Set<string> }

/** Updates the traits of the items' users in order, and makes the entries, which have the traits of the user at that time. */
export function prepareEntries(
  environment: Environment,
  accepted: AcceptedItem[],
  now: number,
  { entries, changed, rooted }: Prepared = { entries: new Map(), changed: new Map(), rooted: new Set() },
): Prepared {
  for (const user of updateBeginnings(accepted)) {
    rooted.add(user.id)
    changed.set(user.id, user)
  }
  for (const { index, item, at, user, platform, transactionKey, triggers } of accepted) {
    if (user) {
      const attribution = attributionOf(user)
      const [last, first] = [updateTraits(user, item, at), updateOrigin(user, item, at)]
      const isSeenLater = updateLastSeen(user, at, now)
      const isShown = isLive(item, triggers) && user.is_seen_live === false
      if (isShown) user.is_seen_live = true
      if (first === 'news' || attributionOf(user) !== attribution) rooted.add(user.id)
      if (last !== 'nothing' || first !== 'nothing' || isSeenLater || isShown) changed.set(user.id, user)
    }
    const entry = toEntry(environment, { item, at, user: user?.id ?? null, platform, transactionKey, triggers })
    if (user && isFact(entry)) entry.known = { country: user.country, app_version: user.app_version, locale: user.locale }
    entries.set(index, entry)
  }
  return { entries, changed, rooted }
}
