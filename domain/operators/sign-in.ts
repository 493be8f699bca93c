import type { Db, Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Secrets } from '../projects/secrets.ts'
import { accountName } from './account-name.ts'
import { beginGuess, checkGuess, forgiveAccount, forgiveGuess } from './guesses.ts'
import { hashPassword, isOutdated, isPassword } from './password.ts'
import { beginSecondFactor, confirmSecondFactor, isPasswordEnough, secondFactorOf, takeCode } from './second-factor.ts'
import {
  createSession,
  type Device,
  endSession,
  endSessions,
  endSetUps,
  hasSession,
  lockOperator,
  type MissingStep,
  noteAuthenticated,
  type PendingSession,
  type SignedIn,
} from './session.ts'

/** What signing in needs. `network`: the part of the caller's address that one host cannot change. */
export type SignInDeps = { pool: Pool; secrets: Secrets }
export type SignInCaller = { network: string; device: Device }

export type Wrong = { is: 'wrong' } | { is: 'locked'; seconds: number }
/** `token`: of a session; `awaits`: what it still needs. */
export type SignInOutcome = { is: 'signed_in'; token: string; awaits: MissingStep | null } | Wrong

type Account = { id: string; password_hash: string | null }

async function findAccount(db: Db, email: string): Promise<Account | null> {
  const { rows } = await db.query<Account>({
    name: 'find-operator-account',
    text: 'select id, password_hash from operators where lower(email) collate "C" = $1 and closed_at is null',
    values: [accountName(email)],
  })
  return rows[0] ?? null
}

/**
 * Signs in with e-mail address and password. An account that does not exist gets the same answers, after the same work. `needs_passkey`: a second
 * factor is demanded, and the account has one that this page does not ask for. `isEnded`: somebody may have copied it, and it signs in nowhere.
 */
export async function signIn(
  { pool, secrets }: SignInDeps,
  { email, password }: { email: string; password: string },
  { network, device }: SignInCaller,
): Promise<SignInOutcome | { is: 'needs_passkey'; isEnded: boolean }> {
  const begun = await beginGuess(pool, secrets, { email, address: network })
  if (begun.is === 'locked') return begun
  return checkGuess(pool, begun.guess, async () => {
    const account = await findAccount(pool, email)
    const isRight = await isPassword(account?.password_hash ?? null, password)
    if (!isRight || !account?.password_hash) return { is: 'wrong' }
    const stored = account.password_hash
    const hash = isOutdated(stored) ? await hashPassword(password) : stored
    return transaction(pool, async tx => {
      const awaits = await awaitedOf(tx, account.id, stored, hash)
      if (awaits === undefined) return { is: 'wrong' }
      if (awaits === 'passkey' || awaits === 'ended_passkey') {
        await forgiveGuess(tx, begun.guess)
        return { is: 'needs_passkey', isEnded: awaits === 'ended_passkey' }
      }
      if (awaits === 'set_up') {
        await endSetUps(tx, account.id)
        await beginSecondFactor(tx, secrets, account.id)
      }
      const token = await createSession(tx, account.id, device, { awaits })
      await (awaits === 'code' ? forgiveGuess : forgiveAccount)(tx, begun.guess)
      return { is: 'signed_in', token, awaits }
    })
  })
}

/** Locks the account whose password is still the one that was checked; undefined: it has changed, or the account was closed. */
async function awaitedOf(
  tx: Tx,
  id: string,
  stored: string,
  hash: string,
): Promise<MissingStep | 'passkey' | 'ended_passkey' | null | undefined> {
  const { rows } = await tx.query<{ is_on: boolean; is_needed: boolean; have_ended: boolean | null }>(
    `update operators o set password_hash = $3 from operator_policy p where o.id = $1 and o.password_hash = $2 and o.closed_at is null
     returning o.totp_secret is not null as is_on, o.needs_second_factor or p.needs_second_factor as is_needed,
       (select bool_and(ended_at is not null) from operator_passkeys where operator = o.id) as have_ended`,
    [id, stored, hash],
  )
  if (!rows[0]) return undefined
  const { is_on: isOn, is_needed: isNeeded, have_ended: haveEnded } = rows[0]
  if (isOn) return 'code'
  if (!isNeeded) return null
  if (haveEnded === null) return 'set_up'
  // Whoever has guessed the password sets up no second factor beside the one that is there, nor in the place of one that they have copied.
  return haveEnded ? 'ended_passkey' : 'passkey'
}

/** The second step: a code of the app or a recovery code. The session gets another token. */
export async function confirmCode(
  { pool, secrets }: SignInDeps,
  { operator, session }: PendingSession,
  code: string,
  { network, device }: SignInCaller,
): Promise<SignInOutcome | { is: 'ended' }> {
  const begun = await beginGuess(pool, secrets, { email: operator.email, address: network })
  if (begun.is === 'locked') return begun
  return checkGuess(pool, begun.guess, () =>
    transaction(pool, async tx => {
      await lockOperator(tx, operator.id)
      if (!(await takeCode(tx, secrets, operator.id, code))) return { is: 'wrong' }
      if (!(await endSession(tx, operator.id, session))) return { is: 'ended' }
      const token = await createSession(tx, operator.id, device)
      await forgiveAccount(tx, begun.guess)
      return { is: 'signed_in', token, awaits: null }
    }),
  )
}

/** Sets up the second factor that is demanded, and signs in. Null: the code is wrong. */
export function confirmSetUp(
  { pool, secrets }: SignInDeps,
  { operator, session }: PendingSession,
  code: string,
  device: Device,
): Promise<{ token: string; codes: string[] } | null> {
  return transaction(pool, async tx => {
    await lockOperator(tx, operator.id)
    // Whoever has ended the session has put out the person who sets it up.
    if (!(await hasSession(tx, operator.id, session))) return null
    const codes = await confirmSecondFactor(tx, secrets, operator.id, code)
    if (!codes) return null
    // Nothing that knew the password alone stays.
    await endSessions(tx, operator.id)
    return { token: await createSession(tx, operator.id, device), codes }
  })
}

/**
 * Gives password or code once more. `code`: six digits or a recovery code. Where a second factor is on or demanded, the password alone is not enough:
 * it says nothing of the second thing that is guessed, and the session is as old as before.
 */
export async function authenticateAgain(
  { pool, secrets }: SignInDeps,
  { operator, session }: SignedIn,
  given: { password: string } | { code: string },
  network: string,
): Promise<{ is: 'right' } | Wrong> {
  const begun = await beginGuess(pool, secrets, { email: operator.email, address: network })
  if (begun.is === 'locked') return begun
  return checkGuess(pool, begun.guess, async () => {
    if ('password' in given && !(await isPassword((await findAccount(pool, operator.email))?.password_hash ?? null, given.password)))
      return { is: 'wrong' }
    return transaction(pool, async tx => {
      await lockOperator(tx, operator.id)
      if ('code' in given) {
        if (!(await takeCode(tx, secrets, operator.id, given.code))) return { is: 'wrong' }
      } else if (!isPasswordEnough(await secondFactorOf(tx, operator.id))) {
        await forgiveGuess(tx, begun.guess)
        return { is: 'wrong' }
      }
      await forgiveAccount(tx, begun.guess)
      await noteAuthenticated(tx, session)
      return { is: 'right' }
    })
  })
}
