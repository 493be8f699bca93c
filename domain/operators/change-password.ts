import { transaction } from '../../store/transaction.ts'
import { notFound, Refusal } from '../kernel/refusal.ts'
import { beginGuess, checkGuess, forgiveAccount } from './guesses.ts'
import { assertChoosable, hashPassword, isPassword } from './password.ts'
import { secondFactorOf, takeCode } from './second-factor.ts'
import { endSessions, lockOperator, renewSession, type SignedIn } from './session.ts'
import type { SignInCaller, SignInDeps, Wrong } from './sign-in.ts'

/** `current`: the password of now. `code`: of the second factor, where that is on. */
export type PasswordChange = { current: string; code: string; password: string }
export type PasswordOutcome = { is: 'changed'; token: string } | { is: 'wrong_code' } | { is: 'ended' } | Wrong

/**
 * Chooses another password. All sessions end; the one that has asked goes on with another token. Throws `invalid_data` for a password that may not
 * be chosen, before anything counts as a guess.
 */
export async function changePassword(
  { pool, secrets }: SignInDeps,
  { operator: { id, email, name }, session }: SignedIn,
  { current, code, password }: PasswordChange,
  { network, device }: SignInCaller,
): Promise<PasswordOutcome> {
  assertChoosable(password, [email, name])
  const begun = await beginGuess(pool, secrets, { email, address: network })
  if (begun.is === 'locked') return begun
  const check = async (): Promise<PasswordOutcome> => {
    const { rows } = await pool.query<{ password_hash: string | null }>('select password_hash from operators where id = $1', [id])
    const stored = rows[0]?.password_hash ?? null
    if (!(await isPassword(stored, current))) return { is: 'wrong' }
    const hash = await hashPassword(password)
    return transaction(pool, async tx => {
      await lockOperator(tx, id)
      if ((await secondFactorOf(tx, id)).isOn && !(await takeCode(tx, secrets, id, code))) return { is: 'wrong_code' }
      // The password that was checked, or none: whoever has reset the account meanwhile wins.
      const { rowCount } = await tx.query(
        'update operators set password_hash = $3 where id = $1 and password_hash = $2 and closed_at is null',
        [id, stored, hash],
      )
      if (rowCount !== 1) throw notFound('session')
      await endSessions(tx, id, session)
      const token = await renewSession(tx, id, session, device)
      await forgiveAccount(tx, begun.guess)
      return { is: 'changed', token }
    })
  }
  return checkGuess(pool, begun.guess, check).catch(error => {
    // Everything is rolled back.
    if (error instanceof Refusal && error.code === 'not_found') return { is: 'ended' }
    throw error
  })
}
