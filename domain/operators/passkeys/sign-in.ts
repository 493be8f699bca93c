import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Secrets } from '../../projects/secrets.ts'
import { endAllowed } from '../grants/codes.ts'
import { beginGuess, checkGuess, forgiveGuess } from '../guesses.ts'
import { createSession, lockOperator, noteAuthenticated, type SignedIn } from '../session.ts'
import type { SignInCaller, SignInDeps, Wrong } from '../sign-in.ts'
import { type PasskeyAnswer, userHandleOf } from './add.ts'
import { CHALLENGE_MINUTES, type ChallengeScope, checkChallenge, makeChallenge, spendChallenge } from './challenge.ts'
import { challengeIn, type GivenSignature, signatureIn } from './given.ts'
import type { Site } from './site.ts'
import { verifySignature } from './verify.ts'

/** `late`: the page was open for too long. `copied`: the counter went back, and the passkey has ended. */
export type RefusedPasskey = Wrong | { is: 'late' } | { is: 'copied'; operator: string; passkey: string }

const ASKED_TO_SIGN_IN = 'sign-in'
const againFor = ({ session }: SignedIn): ChallengeScope['purpose'] => `again ${session}`

/** For `navigator.credentials.get`; bytes are in base64url. Whoever is signed in already is asked for a passkey of the account. */
export async function requestOptions(db: Pool, secrets: Secrets, { site, browser, who }: { site: Site; browser: string; who?: SignedIn }) {
  const { rows } = who
    ? await db.query<{ credential_id: Buffer; transports: string[] }>(
        'select credential_id, transports from operator_passkeys where operator = $1 and ended_at is null',
        [who.operator.id],
      )
    : { rows: [] }
  return {
    rpId: site.id,
    challenge: makeChallenge(secrets, { purpose: who ? againFor(who) : ASKED_TO_SIGN_IN, browser }),
    timeout: CHALLENGE_MINUTES * 60_000,
    userVerification: 'required',
    allowCredentials: rows.map(one => ({ type: 'public-key', id: one.credential_id.toString('base64url'), transports: one.transports })),
  }
}

/** Signs in with a passkey alone: the device has asked for a finger, a face or a PIN. */
export const signInWithPasskey = (
  deps: SignInDeps,
  answer: PasskeyAnswer,
  { network, device }: SignInCaller,
): Promise<{ is: 'signed_in'; token: string } | RefusedPasskey> =>
  usePasskey(deps, { ...answer, network, purpose: ASKED_TO_SIGN_IN }, async (tx, { id, operator }) => ({
    is: 'signed_in',
    token: await createSession(tx, operator, device, { passkey: id }),
  }))

/** Gives a passkey in the place of password or code, once more. */
export const authenticateByPasskey = (
  deps: SignInDeps,
  who: SignedIn,
  answer: PasskeyAnswer,
  network: string,
): Promise<{ is: 'right' } | RefusedPasskey> =>
  usePasskey(deps, { ...answer, network, purpose: againFor(who) }, async (tx, { operator }) => {
    if (operator !== who.operator.id) return { is: 'wrong' }
    await noteAuthenticated(tx, who.session)
    return { is: 'right' }
  })

type Passkey = { id: string; operator: string; publicKey: Buffer; isSynced: boolean }
type Use = PasskeyAnswer & { network: string; purpose: ChallengeScope['purpose'] }

/**
 * Checks an answer, and does what it opens. It counts as a guess of its network address; of the account it says nothing, which nobody locks by
 * answering with passkeys that are not its own.
 */
async function usePasskey<T extends { is: 'signed_in' | 'right' }>(
  { pool, secrets }: SignInDeps,
  { answer, browser, site, network, purpose }: Use,
  open: (tx: Tx, passkey: Passkey) => Promise<T | Wrong>,
): Promise<T | RefusedPasskey> {
  const begun = await beginGuess(pool, secrets, { email: null, address: network })
  if (begun.is === 'locked') return begun
  return checkGuess(pool, begun.guess, async () => {
    const given = signatureIn(answer)
    const challenge = given && challengeIn(given)
    if (!given || !challenge) return { is: 'wrong' }
    const state = checkChallenge(secrets, { purpose, browser }, challenge)
    if (state === 'late') await forgiveGuess(pool, begun.guess)
    if (state !== 'good') return { is: state === 'late' ? 'late' : 'wrong' }
    const passkey = await findPasskey(pool, given, purpose === ASKED_TO_SIGN_IN)
    const counter = passkey && (await verifySignature(given, passkey, { challenge, site }))
    if (!passkey || counter === null) return { is: 'wrong' }
    return transaction(pool, async tx => {
      await lockOperator(tx, passkey.operator)
      if (!(await spendChallenge(tx, challenge))) return { is: 'wrong' }
      const noted = await noteUse(tx, passkey.id, counter)
      if (noted === 'gone') return { is: 'wrong' }
      if (noted === 'went_back') {
        await endCopied(tx, passkey)
        return { is: 'copied', operator: passkey.operator, passkey: passkey.id }
      }
      const opened = await open(tx, passkey)
      if (opened.is === 'signed_in' || opened.is === 'right') await forgiveGuess(tx, begun.guess)
      return opened
    })
  })
}

/** `isNamed`: the device must say for which account it has made the key. What it says must be right in any case. */
async function findPasskey(db: Db, { id, userHandle }: GivenSignature, isNamed: boolean): Promise<Passkey | null> {
  const { rows } = await db.query<Passkey>({
    name: 'find-operator-passkey',
    text: `select k.id, k.operator, k.public_key as "publicKey", k.is_synced as "isSynced" from operator_passkeys k join operators o on o.id = k.operator
           where k.credential_id = $1 and k.ended_at is null and o.closed_at is null`,
    values: [Buffer.from(id, 'base64url')],
  })
  const found = rows[0]
  if (!found || (userHandle === null && isNamed)) return null
  return userHandle === null || userHandle === userHandleOf(found.operator) ? found : null
}

/** The statement decides: of two answers with one counter one finds it used. A device that does not count always says 0. */
async function noteUse(tx: Tx, id: string, counter: number): Promise<'noted' | 'went_back' | 'gone'> {
  const { rowCount } = await tx.query(
    `update operator_passkeys set counter = $2, last_used_at = clock_timestamp()
     where id = $1 and ended_at is null and (counter < $2 or (counter = 0 and $2 = 0))`,
    [id, counter],
  )
  if (rowCount === 1) return 'noted'
  const { rows } = await tx.query('select 1 from operator_passkeys where id = $1 and ended_at is null', [id])
  return rows[0] ? 'went_back' : 'gone'
}

/** Who of the two has the copy is not known: neither signs in, and what either has opened is closed, also what it has allowed assistants. */
async function endCopied(tx: Tx, { id, operator }: Passkey): Promise<void> {
  await tx.query('update operator_passkeys set ended_at = clock_timestamp() where id = $1', [id])
  await tx.query('delete from operator_sessions where operator = $1 and passkey = $2', [operator, id])
  await endAllowed(tx, operator)
}
