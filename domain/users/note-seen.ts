import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { micros } from '../events/instant.ts'
import { learn } from '../events/known.ts'
import { findUsers } from '../events/look-up.ts'
import { writeUsers } from './write.ts'

/** What a purchase tells of its user: platform and country, known as of the purchase's own time. The user's row is locked. */
export async function noteSeen(
  tx: Tx,
  environment: Environment,
  user: string,
  told: { platform: 'iOS' | 'Android' | 'Stripe' | 'Paddle'; country: string | null; at: string },
): Promise<void> {
  const known = (await findUsers(tx, environment, 'id', [user])).get(user)
  if (!known) return
  const { platform, country, at } = told
  if (learn(known, { platform, ...(country !== null && { device: { country } }) }, micros(at)))
    await writeUsers(tx, environment, new Map([[user, { known }]]))
}
