import { timingSafeEqual } from 'node:crypto'
import type { Tx } from '../../../store/connect.ts'
import { opaqueId } from '../../../store/ids.ts'
import { hashKey, type Secrets } from '../../projects/secrets.ts'

/** From the page that asks to the answer of the person. */
export const CHALLENGE_MINUTES = 5
/** 6 bytes of time and 24 random ones, in base64url. */
const UNSIGNED = 40

/** What an answer is good for: nothing else takes it. `browser`: the cookie of the browser that was asked. */
export type ChallengeScope = { purpose: 'sign-in' | `add ${string}` | `again ${string}`; browser: string }

const signatureOf = (secrets: Secrets, { purpose, browser }: ChallengeScope, unsigned: string): string =>
  secrets.sign(`passkey challenge ${purpose} ${browser} ${unsigned}`)

/**
 * What the passkey signs. Everybody opens the sign-in page, so a challenge is no row: it carries the signature by which each process knows it, and its
 * row is made when it is answered.
 */
export function makeChallenge(secrets: Secrets, scope: ChallengeScope): string {
  const until = Buffer.alloc(6)
  until.writeUIntBE(Date.now() + CHALLENGE_MINUTES * 60_000, 0, 6)
  const unsigned = until.toString('base64url') + opaqueId()
  return unsigned + signatureOf(secrets, scope, unsigned)
}

export function checkChallenge(secrets: Secrets, scope: ChallengeScope, challenge: string): 'good' | 'late' | 'unknown' {
  const unsigned = challenge.slice(0, UNSIGNED)
  const [given, own] = [challenge.slice(UNSIGNED), signatureOf(secrets, scope, unsigned)].map(text => Buffer.from(text))
  if (given!.length !== own!.length || !timingSafeEqual(given!, own!)) return 'unknown'
  return Buffer.from(unsigned, 'base64url').readUIntBE(0, 6) < Date.now() ? 'late' : 'good'
}

/** True for one of the answers to a challenge: the other ones wait for it. */
export async function spendChallenge(tx: Tx, challenge: string): Promise<boolean> {
  const { rowCount } = await tx.query('insert into operator_spent_challenges (hash) values ($1) on conflict do nothing', [
    hashKey(challenge),
  ])
  // Long after the last answer, also where the clocks of two machines differ.
  await tx.query(
    `delete from operator_spent_challenges where hash in (
       select hash from operator_spent_challenges where spent_at < clock_timestamp() - interval '1 day' limit 100 for update skip locked)`,
  )
  return rowCount === 1
}
