import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { mark } from '../../durable/marks/mark.ts'
import type { EventInput } from '../../events/item.ts'
import { type FoundUser, findUsers } from '../../events/look-up.ts'
import { attributionOf, TRAIT_COLUMNS, updateLastSeen, updateOrigin, updateTraits } from '../../events/traits.ts'
import { writeUsers } from '../../events/write-users.ts'
import type { Environment } from '../../kernel/environment.ts'
import { noteSeen, SEEN_MICROS } from '../../users/last-seen.ts'
import { lockUsers } from '../../users/user.ts'

/** The data that an app reports of itself, its device, and the source of its user. */
export type ReportedTraits = Pick<EventInput, 'platform' | 'device' | 'app' | 'attribution'>

/** A user of a project, in either environment. `no`: its number in the environment. `now` in µs, by the clock of that environment. */
export type AppUser = FoundUser & { environment: Environment; no: number; now: number }

/** Finds the user in whichever of the project's environments it is. An id is in one of them only. */
export async function findAppUser(db: Db, environments: Environment[], id: string): Promise<AppUser | undefined> {
  const { rows } = await db.query<AppUser>({
    name: 'find-app-user',
    // As an ordered range: without statistics any index of the environment looks as good as the key.
    text: `select u.environment, u.no, u.id, u.identity_id, ${TRAIT_COLUMNS},
             (extract(epoch from environment_now(u.environment)) * 1000000)::bigint as now
           from unnest($1::int[]) k(environment)
           cross join lateral (select * from users where environment = k.environment and id >= $2 and id <= $2 order by id limit 1) u`,
    values: [environments, id],
  })
  return rows[0]
}

/** Takes over what was reported as of `now`. `isNew`: something has changed. `isOrigin`: something that figures of the past show has changed. */
function takeOver(user: FoundUser, reported: ReportedTraits, now: number): { isNew: boolean; isOrigin: boolean } {
  const attribution = attributionOf(user)
  const isNew = updateTraits(user, reported, now) === 'news'
  const isOrigin = updateOrigin(user, reported, now) === 'news' || attributionOf(user) !== attribution
  return { isNew: isNew || isOrigin, isOrigin }
}

/**
 * Stores what the app reports as the last known values of its user, and that the user was seen. Nothing is written when nothing is new.
 */
export async function noteReportedTraits(pool: Pool, user: AppUser, reported: ReportedTraits): Promise<void> {
  const { environment, id, now } = user
  if (takeOver({ ...user }, reported, now).isNew) return transaction(pool, tx => recordReportedTraits(tx, user, reported))
  if (user.is_seen_live !== false && user.last_seen_at !== null && now - user.last_seen_at < SEEN_MICROS) return
  await noteSeen(pool, environment, id)
}

/** Stores what an app or Apple reported of a user as of `now`. */
export async function recordReportedTraits(tx: Tx, { environment, id, now }: AppUser, reported: ReportedTraits): Promise<void> {
  // Among the others: a user who was erased meanwhile is no fault of a request that only names this user in a header.
  await lockUsers(tx, environment, [], [id])
  const traits = (await findUsers(tx, environment, 'id', [id])).get(id)
  if (!traits) return
  const { isNew, isOrigin } = takeOver(traits, reported, now)
  const isSeen = updateLastSeen(traits, now, now) || traits.is_seen_live === false
  traits.is_seen_live = true
  if (isNew || isSeen) await writeUsers(tx, environment, new Map([[id, traits]]))
  if (isOrigin) await mark(tx, environment, [id])
}
