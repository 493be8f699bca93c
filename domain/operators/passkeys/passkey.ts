import type { Db, Tx } from '../../../store/connect.ts'
import { secondFactorOf } from '../second-factor.ts'
import { lockOperator, type SignedIn } from '../session.ts'

export type ListedPasskey = { id: string; name: string; created_at: string; last_used_at: string | null; is_ended: boolean }

/** The passkeys of an operator, oldest first. */
export async function listPasskeys(db: Db, operator: string): Promise<ListedPasskey[]> {
  const { rows } = await db.query<ListedPasskey>(
    `select id, name, created_at, last_used_at, ended_at is not null as is_ended from operator_passkeys where operator = $1 order by created_at, id`,
    [operator],
  )
  return rows
}

/** Removes a passkey and ends the sessions that it has opened, but not the one that asks. `needed`: the operator has no other second factor. */
export async function removePasskey(tx: Tx, { operator, session }: SignedIn, id: string): Promise<'removed' | 'needed' | 'unknown'> {
  await lockOperator(tx, operator.id)
  const { isOn, isNeeded } = await secondFactorOf(tx, operator.id)
  const own = await listPasskeys(tx, operator.id)
  const found = own.find(one => one.id === id)
  if (!found) return 'unknown'
  const hasOther = own.some(one => one.id !== id && !one.is_ended)
  if (isNeeded && !isOn && !found.is_ended && !hasOther) return 'needed'
  await tx.query('delete from operator_passkeys where id = $1', [id])
  await tx.query('delete from operator_sessions where operator = $1 and passkey = $2 and id <> $3', [operator.id, id, session])
  return 'removed'
}

/** All of them, where the account ends or begins anew. The caller ends the sessions. */
export async function clearPasskeys(tx: Tx, operator: string): Promise<void> {
  await tx.query('delete from operator_passkeys where operator = $1', [operator])
}
