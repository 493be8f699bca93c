import { arrayOf } from '../../store/array-literal.ts'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Platform } from '../kernel/platform.ts'
import { isoMicros, micros } from '../kernel/time/instant.ts'
import { newBeginning } from '../users/beginning.ts'
import { findUsers } from './look-up.ts'
import { TRAIT_FIELDS, type UserTraits, updateOrigin, updateTraits } from './traits.ts'

const columnType = (name: string) => (name.endsWith('_at') ? 'timestamptz' : name === 'is_seen_live' ? 'boolean' : 'text')

const columnValue = (traits: UserTraits, name: (typeof TRAIT_FIELDS)[number]) => {
  const value = traits[name]
  // A list that was stored before there was a further field may have holes.
  if (Array.isArray(value)) return `{${Array.from(value, time => time ?? 'null').join()}}`
  if (typeof value === 'boolean') return value ? 't' : 'f'
  return typeof value === 'number' ? isoMicros(value) : value
}

const OF_BEGINNING = new Set<string>(['last_seen_at', 'created_at', 'is_seen_live'])
/** The columns of what is reported of a new user, without the times that the creation sets. */
export const REPORTED_COLUMNS = TRAIT_FIELDS.filter(name => !OF_BEGINNING.has(name)).map(name => ({
  name,
  type: name === 'told_times' ? 'bigint[]' : columnType(name),
  value: ({ user }: { user: UserTraits }) => (user.told_times.every(at => at === null) ? null : columnValue(user, name)),
}))

// The traits were read before the lock. Writes of properties and evaluations may have moved `last_seen_at` since then, and shown the user live. Lists
// travel as texts: a list of lists could not be taken apart.
const NEW_TRAITS: Record<string, string> = {
  last_seen_at: 'greatest(u.last_seen_at, c.last_seen_at)',
  ...newBeginning('c.created_at', 'c.is_seen_live'),
  told_times: 'c.told_times::bigint[]',
}

// One new version of a row per batch, because each version costs an entry in each index of the figures. The rows are locked, so their ctid
// does not change. They are found one by one and as an ordered range, because without statistics a join may read the whole environment.
const WRITE = `
update users u set
  ${[...TRAIT_FIELDS, 'recorded_at'].map(name => `${name} = ${NEW_TRAITS[name] ?? `c.${name}`}`).join(', ')}
from (
  select t.row_id, g.* from unnest($2::text[], ${TRAIT_FIELDS.map((name, i) => `$${i + 3}::${columnType(name)}[]`).join(', ')}) g(id, ${TRAIT_FIELDS.join(', ')})
  cross join lateral (select ctid as row_id from users where environment = $1 and id >= g.id and id <= g.id order by id limit 1) t
  offset 0
) c
where u.ctid = c.row_id`

/** Writes the traits of users, by id; the caller has locked the users. */
export async function writeUsers(tx: Tx, environment: Environment, users: Map<string, UserTraits>): Promise<void> {
  if (users.size === 0) return
  const all = [...users.values()]
  const written = await tx.query({
    name: 'write-users',
    text: WRITE,
    values: [environment, [...users.keys()], ...TRAIT_FIELDS.map(name => arrayOf(all, traits => columnValue(traits, name)))],
  })
  if (written.rowCount !== users.size) throw new Error(`${written.rowCount} of ${users.size} users were written: the users were not locked`)
}

/** Updates the user's traits by a purchase: platform and country, as of the time of the purchase. The user's row is locked. */
export async function updateTraitsByPurchase(
  tx: Tx,
  environment: Environment,
  user: string,
  { platform, country, at }: { platform: Platform; country: string | null; at: string },
): Promise<void> {
  const traits = (await findUsers(tx, environment, 'id', [user])).get(user)
  if (!traits) return
  const reported = { platform, ...(country !== null && { device: { country } }) }
  const changes = [updateTraits(traits, reported, micros(at)), updateOrigin(traits, reported, micros(at))]
  if (changes.some(one => one !== 'nothing')) await writeUsers(tx, environment, new Map([[user, traits]]))
}
