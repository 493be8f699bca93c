import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { hashKey } from '../projects/secrets.ts'
import { accountName } from './account-name.ts'
import { lockOf } from './guesses.ts'
import { linkByEmail, linkedAccount, linkOperator } from './identities.ts'
import { endLinks } from './links.ts'
import type { ProvidedPerson } from './provider.ts'
import { createSession, hasSession, lockOperator, noteAuthenticated, type SignedIn } from './session.ts'
import type { SignInCaller, SignInDeps } from './sign-in.ts'

/** A browser keeps what it needs for one trip to the provider for so long. */
export const TRIP_MINUTES = 10

/** `state`: of the trip. */
export type Returned = { person: ProvidedPerson; state: string }

type Locked = { is: 'locked'; seconds: number }
/** `used`: the trip has done its work before. */
type Used = { is: 'used' }
/** The account or the person is linked already, and not to each other. */
type LinkedElsewhere = { is: 'linked_elsewhere' }

/** No trip does its work twice, in whichever process: of two at the same time one waits for the other and finds its row. */
async function takeTrip(tx: Tx, state: string): Promise<boolean> {
  await tx.query(
    `delete from operator_provider_uses where hash in (
       select hash from operator_provider_uses where expires_at < clock_timestamp() limit 100 for update skip locked)`,
  )
  const { rowCount } = await tx.query(
    `insert into operator_provider_uses (hash, expires_at) values ($1, clock_timestamp() + make_interval(mins => $2)) on conflict do nothing`,
    [hashKey(state), 2 * TRIP_MINUTES],
  )
  return rowCount === 1
}

/** The account of the person, locked. */
async function lockLinked(tx: Tx, person: ProvidedPerson): Promise<string | null> {
  const found = await linkedAccount(tx, person)
  if (!found) return null
  await lockOperator(tx, found.id)
  // Whoever has held the lock may have ended the link, or the account.
  const still = await linkedAccount(tx, person)
  return still?.id === found.id ? found.id : null
}

/**
 * Only an address that the provider has verified names an account. In lower case the Kelvin sign is a k, and a no-break space is cut off like a
 * space: the address of somebody else, which the provider has verified, could name the account. The account of an address with other signs is
 * linked on its own page.
 */
const verifiedEmail = ({ email, isEmailVerified }: ProvidedPerson): string | null =>
  isEmailVerified && email !== null && /^[!-~]+$/.test(email) && accountName(email) !== '' ? email : null

export type ProviderOutcome =
  | { is: 'signed_in'; token: string; operator: string; isNew: boolean }
  /** Nobody is linked to the person, and no account has the address. */
  | { is: 'unknown' }
  /** Nobody is linked to the person, and the provider does not vouch for an address. */
  | { is: 'unverified' }
  | LinkedElsewhere
  | Used
  | Locked

/**
 * Signs in whom the provider has named. The first time the account with the same verified address is linked; from then on the subject alone decides.
 * Nothing is guessed here, but an account that is locked is locked here too.
 */
export async function signInByProvider(
  { pool, secrets }: SignInDeps,
  { person, state }: Returned,
  { network, device }: SignInCaller,
): Promise<ProviderOutcome> {
  const email = verifiedEmail(person)
  const seconds = await lockOf(pool, secrets, network, (await linkedAccount(pool, person))?.email ?? email ?? undefined)
  if (seconds !== null) return { is: 'locked', seconds }
  return transaction(pool, async tx => {
    if (!(await takeTrip(tx, state))) return { is: 'used' }
    const known = await lockLinked(tx, person)
    const made = known === null && email !== null ? await linkByEmail(tx, person, email) : null
    // Of two first sign-ins at the same time the second one finds the link of the first.
    const operator = known ?? made ?? (await lockLinked(tx, person))
    if (operator === null)
      return email === null ? { is: 'unverified' } : { is: (await hasAccount(tx, email)) ? 'linked_elsewhere' : 'unknown' }
    // Whoever was invited is here without the link.
    if (made !== null) await endLinks(tx, made)
    const token = await createSession(tx, operator, device, { byProvider: { authenticatedAt: person.authenticatedAt } })
    return { is: 'signed_in', token, operator, isNew: made !== null }
  })
}

async function hasAccount(tx: Tx, email: string): Promise<boolean> {
  const { rowCount } = await tx.query('select 1 from operators where lower(email) collate "C" = $1 and closed_at is null', [
    accountName(email),
  ])
  return rowCount === 1
}

/** The person who is signed in has proved at the provider that it is still them. `somebody_else`: another account's, or nobody's. */
export async function authenticateByProvider(
  { pool, secrets }: SignInDeps,
  { operator, session }: SignedIn,
  { person, state }: Returned,
  network: string,
): Promise<{ is: 'right' } | { is: 'somebody_else' } | { is: 'ended' } | Used | Locked> {
  const seconds = await lockOf(pool, secrets, network, operator.email)
  if (seconds !== null) return { is: 'locked', seconds }
  return transaction(pool, async tx => {
    if (!(await takeTrip(tx, state))) return { is: 'used' }
    if ((await lockLinked(tx, person)) !== operator.id) return { is: 'somebody_else' }
    return { is: (await noteAuthenticated(tx, session)) ? 'right' : 'ended' }
  })
}

/** Links the account of somebody who is signed in, whatever address the provider names. */
export function linkByProvider(
  pool: Pool,
  { operator, session }: SignedIn,
  { person, state }: Returned,
): Promise<{ is: 'linked' } | { is: 'ended' } | LinkedElsewhere | Used> {
  return transaction(pool, async tx => {
    if (!(await takeTrip(tx, state))) return { is: 'used' }
    await lockOperator(tx, operator.id)
    // Whoever has held the lock may have reset the account, to put somebody out who has this session.
    if (!(await hasSession(tx, operator.id, session))) return { is: 'ended' }
    const isLinked = (await linkOperator(tx, operator.id, person)) || (await linkedAccount(tx, person))?.id === operator.id
    return { is: isLinked ? 'linked' : 'linked_elsewhere' }
  })
}
