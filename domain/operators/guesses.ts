import { LOCK } from '../../store/advisory-locks.ts'
import type { Db, Pool } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'
import type { Secrets } from '../projects/secrets.ts'
import { accountName } from './account-name.ts'

const MOST = 5
/** Within so long, and for so long. */
const MINUTES = 15

/** A guess at a password or a code, which counts as wrong until it is forgiven. `account` is null where none was named. */
type Guess = { id: string; account: string | null; address: string }
export type Begun = { is: 'begun'; guess: Guess } | { is: 'locked'; seconds: number }

/** What is guessed. `email`: null where no account is named. `address`: a network address, or the part of it that one host cannot change. */
export type Guessed = { email: string | null; address: string }

type Subjects = Pick<Guess, 'account' | 'address'>

const subjectsOf = (secrets: Secrets, { email, address }: Guessed) => ({
  // People type passwords in the wrong field: what was guessed is not stored in clear.
  account: email === null ? null : secrets.pseudonym(`account ${accountName(email)}`),
  address: secrets.pseudonym(`address ${address}`),
})

/** In one order, in which they are locked. */
const namesOf = ({ account, address }: Subjects): string[] => (account === null ? [address] : [account, address].sort())

/** For how many seconds one of them is still locked; null: none is. */
async function secondsLocked(db: Db, subjects: readonly string[]): Promise<number | null> {
  const { rows } = await db.query<{ seconds: number }>(
    `select extract(epoch from max(latest) - clock_timestamp() + make_interval(mins => $3))::float8 as seconds
     from unnest($1::text[]) s, lateral (
       select max(at) as latest, min(at) as earliest, count(*) as guesses
       from (select at from operator_guesses where subject = s order by at desc limit $2) newest
     ) n
     where guesses = $2 and latest - earliest <= make_interval(mins => $3) and latest > clock_timestamp() - make_interval(mins => $3)
     having count(*) > 0`,
    [subjects, MOST, MINUTES],
  )
  return rows[0] ? Math.max(1, Math.ceil(rows[0].seconds)) : null
}

/**
 * Counts a guess before it is checked. After five wrong ones within 15 minutes the account and the address are locked for 15 minutes, in all
 * processes. Nothing here asks whether the account exists.
 */
export async function beginGuess(pool: Pool, secrets: Secrets, guessed: Guessed): Promise<Begun> {
  const subjects = subjectsOf(secrets, guessed)
  const counted = namesOf(subjects)
  const id = orderedId('gss')
  return transaction(pool, async tx => {
    // Statements of their own: the count below must see what the locks have waited for.
    for (const subject of counted) await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK.guesses, subject])
    const seconds = await secondsLocked(tx, counted)
    if (seconds !== null) return { is: 'locked', seconds }
    await tx.query('insert into operator_guesses (subject, id) select s, $2 from unnest($1::text[]) s', [counted, id])
    await tx.query(
      `delete from operator_guesses where (subject, id) in (
         select subject, id from operator_guesses where at < clock_timestamp() - interval '1 hour' limit 100 for update skip locked)`,
    )
    return { is: 'begun', guess: { id, ...subjects } }
  })
}

/** For how many seconds an address, or an account from there, is locked where nothing is guessed; null: it is not. */
export function lockOf(db: Db, secrets: Secrets, address: string, email?: string): Promise<number | null> {
  return secondsLocked(db, namesOf(subjectsOf(secrets, { email: email ?? null, address })))
}

/** The guess was right. The other guesses at the account stay: there is a second thing to guess. */
export async function forgiveGuess(db: Db, { id, account, address }: Guess): Promise<void> {
  await db.query('delete from operator_guesses where subject = any ($1) and id = $2', [[account, address], id])
}

/** Checks what was guessed. A guess that could not be checked, because the queue was full or the database gone, counts as none. */
export async function checkGuess<T>(pool: Pool, guess: Guess, check: () => Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    // Of the two errors the first one says what is wrong.
    await forgiveGuess(pool, guess).catch(() => {})
    throw error
  }
}

/** The person has signed in: the account has no guesses any more. */
export async function forgiveAccount(db: Db, guess: Guess): Promise<void> {
  await db.query('delete from operator_guesses where subject = $1', [guess.account])
  await forgiveGuess(db, guess)
}

/** An account that was locked may be tried again. */
export async function unlockAccount(db: Db, secrets: Secrets, email: string): Promise<void> {
  await db.query('delete from operator_guesses where subject = $1', [secrets.pseudonym(`account ${accountName(email)}`)])
}
