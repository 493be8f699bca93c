import type { Db, Tx } from '../../../store/connect.ts'
import { waysIn } from '../identities.ts'
import { secondFactorOf } from '../second-factor.ts'
import { lockOperator, type SignedIn } from '../session.ts'
import type { Site } from './site.ts'

/** `rp_id`: the host at which it signs in. */
export type ListedPasskey = {
  id: string
  name: string
  rp_id: string
  created_at: string
  last_used_at: string | null
  is_ended: boolean
}

/** The passkeys of an operator, oldest first. */
export async function listPasskeys(db: Db, operator: string): Promise<ListedPasskey[]> {
  const { rows } = await db.query<ListedPasskey>(
    `select id, name, rp_id, created_at, last_used_at, ended_at is not null as is_ended
     from operator_passkeys where operator = $1 order by created_at, id`,
    [operator],
  )
  return rows
}

/** `site`: whose passkeys sign in; null: none do. `issuer`: of single sign-on; null: there is none. */
type Removal = { id: string; site: Site | null; issuer: string | null }

/**
 * Removes a passkey and ends the sessions that it has opened, but not the one that asks. `needed`: without it the password alone would set up the
 * second factor that is demanded. `last`: nothing else signs in.
 */
export async function removePasskey(
  tx: Tx,
  { operator, session }: SignedIn,
  { id, site, issuer }: Removal,
): Promise<'removed' | 'needed' | 'last' | 'unknown'> {
  await lockOperator(tx, operator.id)
  const own = await listPasskeys(tx, operator.id)
  const found = own.find(one => one.id === id)
  if (!found) return 'unknown'
  const others = own.filter(one => one.id !== id)
  const opens = ({ is_ended, rp_id }: ListedPasskey) => !is_ended && rp_id === site?.id
  const isLast = opens(found) ? !others.some(opens) : others.length === 0
  const { isOn, isNeeded } = await secondFactorOf(tx, operator.id)
  const { hasPassword, linked } = await waysIn(tx, operator.id, issuer)
  if (isLast && opens(found) && !hasPassword && !linked) return 'last'
  // Also one that has ended: while it is there, the password opens nothing.
  if (isLast && isNeeded && !isOn && hasPassword) return 'needed'
  await tx.query('delete from operator_passkeys where id = $1', [id])
  await tx.query('delete from operator_sessions where operator = $1 and passkey = $2 and id <> $3', [operator.id, id, session])
  // The session that asks has no second factor of its own any more: a demand that comes later ends it.
  if (isOn || !isNeeded) await tx.query('update operator_sessions set passkey = null where id = $1 and passkey = $2', [session, id])
  return 'removed'
}

/** All of them, where the account ends or begins anew. The caller ends the sessions. */
export async function clearPasskeys(tx: Tx, operator: string): Promise<void> {
  await tx.query('delete from operator_passkeys where operator = $1', [operator])
}
