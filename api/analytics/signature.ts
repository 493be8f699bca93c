import { Webhook } from 'standardwebhooks'
import type { Secrets } from '../../domain/projects/secrets.ts'

/**
 * Requests between processes of one installation are signed by a key that is derived from APP_SECRET, with the time: a request that somebody
 * has seen on the network is of no use some minutes later.
 */
export const signature = (secrets: Pick<Secrets, 'sign'>): Webhook =>
  new Webhook(Buffer.from(secrets.sign('between processes'), 'base64url').toString('base64'))
