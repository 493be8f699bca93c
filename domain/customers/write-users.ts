import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { findUsers } from '../events/look-up.ts'
import { TRAIT_FIELDS, type UserTraits, updateOrigin, updateTraits } from '../events/traits.ts'
import type { Platform } from '../platform.ts'
import type { CustomerStatus } from '../subscriptions/status.ts'
import { isoMicros, micros } from '../time/instant.ts'
import type { PaymentsAdded } from './posted-payments.ts'

/** The changes of a batch to one user: the traits, the payments to add to those that are counted already, the status. */
export type UserChange = { traits?: UserTraits; added?: PaymentsAdded; status?: CustomerStatus }

const typeOf = (name: string) => (name.endsWith('_at') ? 'timestamptz' : 'text')

const COLUMNS: [name: string, type: string, value: (change: UserChange) => string | number | boolean | null][] = [
  ['has_traits', 'boolean', ({ traits }) => traits !== undefined],
  ...TRAIT_FIELDS.map((name): (typeof COLUMNS)[number] => [
    name,
    typeOf(name),
    ({ traits }) => {
      const value = traits?.[name] ?? null
      return typeof value === 'number' ? isoMicros(value) : value
    },
  ]),
  ['first_at', 'timestamptz', ({ added }) => (added ? isoMicros(added.firstAt) : null)],
  ['last_at', 'timestamptz', ({ added }) => (added?.last ? isoMicros(added.last.at) : null)],
  ['payments', 'int', ({ added }) => added?.payments ?? 0],
  ['converted', 'int', ({ added }) => added?.converted ?? 0],
  ['usd', 'numeric', ({ added }) => added?.usd ?? '0'],
  ['currency', 'text', ({ added }) => added?.last?.currency ?? null],
  ['product', 'text', ({ added }) => added?.last?.product ?? null],
  ['status', 'text', ({ status }) => status ?? null],
]
const names = COLUMNS.map(([name]) => name)
const isLater = `c.last_at >= coalesce(u.last_payment_at, '-infinity')`

// The traits were read before the lock. Writes of properties and evaluations may have moved `last_seen_at` since then.
const NEW_TRAIT = (name: string) =>
  name === 'last_seen_at' ? `greatest(u.${name}, c.${name})` : `case when c.has_traits then c.${name} else u.${name} end`

// One new version of a row per batch, because each version costs an entry in each index of the figures. The rows are locked, so their ctid
// does not change. They are found one by one and as an ordered range, because without statistics a join may read the whole environment.
const WRITE = `
update users u set
  ${TRAIT_FIELDS.map(name => `${name} = ${NEW_TRAIT(name)}`).join(', ')},
  first_transaction_at = least(u.first_transaction_at, c.first_at),
  payments_count = u.payments_count + c.payments,
  converted_payments = u.converted_payments + c.converted,
  gross_payments_usd = u.gross_payments_usd + c.usd,
  net_payments_usd = u.net_payments_usd + c.usd,
  purchase_currency = case when ${isLater} then c.currency else u.purchase_currency end,
  purchase_product_id = case when ${isLater} then c.product else u.purchase_product_id end,
  last_payment_at = greatest(u.last_payment_at, c.last_at),
  status = coalesce(c.status, u.status)
from (
  select t.row_id, g.* from unnest($2::text[], ${COLUMNS.map(([, type], i) => `$${i + 3}::${type}[]`).join(', ')}) g(id, ${names.join(', ')})
  cross join lateral (select ctid as row_id from users where environment = $1 and id >= g.id and id <= g.id order by id limit 1) t
  offset 0
) c
where u.ctid = c.row_id`

/** Writes changes of users; the caller has locked the users. */
export async function writeUsers(tx: Tx, environment: Environment, changes: Map<string, UserChange>): Promise<void> {
  if (changes.size === 0) return
  const all = [...changes.values()]
  const written = await tx.query({
    name: 'write-users',
    text: WRITE,
    values: [environment, [...changes.keys()], ...COLUMNS.map(([, , value]) => all.map(value))],
  })
  if (written.rowCount !== changes.size)
    throw new Error(`${written.rowCount} of ${changes.size} users were written: the users were not locked`)
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
  const said = { platform, ...(country !== null && { device: { country } }) }
  const isNewer = updateTraits(traits, said, micros(at))
  const isOlder = updateOrigin(traits, said, micros(at))
  if (isNewer || isOlder) await writeUsers(tx, environment, new Map([[user, { traits }]]))
}
