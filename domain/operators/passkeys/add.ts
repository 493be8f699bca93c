import type { Pool, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { transaction } from '../../../store/transaction.ts'
import { invalidField } from '../../kernel/refusal.ts'
import type { Secrets } from '../../projects/secrets.ts'
import { endSetUps, lockOperator, type Operator, type SignedIn } from '../session.ts'
import { CHALLENGE_MINUTES, type ChallengeScope, checkChallenge, makeChallenge, spendChallenge } from './challenge.ts'
import { challengeIn, type GivenKey, keyIn } from './given.ts'
import type { Site } from './site.ts'
import { ALGORITHMS, type NewKey, verifyKey } from './verify.ts'

/** Of one account. */
export const MOST_PASSKEYS = 20
/** Characters. */
export const MOST_OF_PASSKEY_NAME = 60

/** Throws `invalid_data`. */
function checkedPasskeyName(given: string): string {
  const name = given.trim()
  if (name === '' || [...name].length > MOST_OF_PASSKEY_NAME || /\p{C}/u.test(name))
    throw invalidField('name', `must have between 1 and ${MOST_OF_PASSKEY_NAME} characters, all of them printable`)
  return name
}

const scopeOf = ({ id }: Operator, browser: string): ChallengeScope => ({ purpose: `add ${id}`, browser })

/** The id by which a device knows the account, in base64url. */
export const userHandleOf = (operator: string): string => Buffer.from(operator).toString('base64url')

/** For `navigator.credentials.create`; bytes are in base64url. `browser`: the cookie of the browser. */
export async function creationOptions(db: Pool, secrets: Secrets, operator: Operator, { site, browser }: { site: Site; browser: string }) {
  const { rows } = await db.query<{ credential_id: Buffer; transports: string[] }>(
    'select credential_id, transports from operator_passkeys where operator = $1',
    [operator.id],
  )
  return {
    rp: { id: site.id, name: 'Perennial' },
    user: { id: userHandleOf(operator.id), name: operator.email, displayName: operator.name },
    challenge: makeChallenge(secrets, scopeOf(operator, browser)),
    pubKeyCredParams: ALGORITHMS.map(alg => ({ type: 'public-key', alg })),
    timeout: CHALLENGE_MINUTES * 60_000,
    // A device makes one passkey for an account.
    excludeCredentials: rows.map(one => ({ type: 'public-key', id: one.credential_id.toString('base64url'), transports: one.transports })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  }
}

export type PasskeyAnswer = { answer: string; browser: string; site: Site }
export type AddOutcome = 'added' | 'late' | 'refused' | 'known' | 'too_many' | 'ended'

/**
 * Adds the passkey that the browser has made. `known`: somebody has it already. `ended`: the session has ended meanwhile. Throws `invalid_data` for
 * the name.
 */
export async function addPasskey(
  { pool, secrets }: { pool: Pool; secrets: Secrets },
  who: SignedIn,
  { answer, browser, site, name: givenName }: PasskeyAnswer & { name: string },
): Promise<AddOutcome> {
  const name = checkedPasskeyName(givenName)
  const given = keyIn(answer)
  const challenge = given && challengeIn(given)
  if (!given || !challenge) return 'refused'
  const state = checkChallenge(secrets, scopeOf(who.operator, browser), challenge)
  if (state !== 'good') return state === 'late' ? 'late' : 'refused'
  const key = await verifyKey(given, { challenge, site })
  if (!key) return 'refused'
  return transaction(pool, async tx => {
    await lockOperator(tx, who.operator.id)
    if (!(await isStillOpen(tx, who))) return 'ended'
    if (!(await spendChallenge(tx, challenge))) return 'refused'
    return insertPasskey(tx, who.operator.id, { name, given, key })
  })
}

/** Whoever has reset or closed the account meanwhile wins. */
async function isStillOpen(tx: Tx, { operator, session }: SignedIn): Promise<boolean> {
  const { rowCount } = await tx.query('select 1 from operator_sessions where operator = $1 and id = $2', [operator.id, session])
  return rowCount === 1
}

type Named = { name: string; given: GivenKey; key: NewKey }

async function insertPasskey(tx: Tx, operator: string, { name, given, key }: Named): Promise<AddOutcome> {
  const { rows } = await tx.query<{ many: number }>('select count(*)::int as many from operator_passkeys where operator = $1', [operator])
  if (rows[0]!.many >= MOST_PASSKEYS) return 'too_many'
  const { rowCount } = await tx.query(
    `insert into operator_passkeys (id, operator, credential_id, public_key, counter, transports, name) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (credential_id) do nothing`,
    [orderedId('psk'), operator, key.credentialId, key.publicKey, key.counter, given.transports, name],
  )
  if (rowCount !== 1) return 'known'
  // From now on the password alone sets up no second factor, where one is demanded.
  await endSetUps(tx, operator)
  return 'added'
}
