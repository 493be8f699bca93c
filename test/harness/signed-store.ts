import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { NotificationVerifier } from '../../domain/purchases/store-inbox/notification.ts'

// A store that signs with a shared secret, in the place of the real ones: what it sends says everything that a real notification says.

/** What the store says. `app`: for whom it is signed. */
export type SignedContent = {
  id: string
  type: string
  queue: string
  environment: 'production' | 'sandbox' | null
  statedAt: number
  app: string
  padding?: string
}

export const signedContent = (given: Partial<SignedContent> = {}): SignedContent => ({
  id: randomUUID(),
  type: 'RENEWED',
  queue: 'lineage-1',
  environment: 'production',
  statedAt: 1_700_000_000_000,
  app: 'org.example',
  ...given,
})

const signatureOf = (body: Uint8Array | string, secret: string) => createHmac('sha256', secret).update(body).digest()

/** Headers with which the store sends the body. */
export const signed = (body: Uint8Array | string, secret: string): Record<string, string> => ({
  'x-signature': signatureOf(body, secret).toString('hex'),
})

function parsed(body: Uint8Array): Partial<SignedContent> | null {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    return null
  }
}

/** Checks the signature under the stored secret of that name, then the app. `meanwhile`: what else the check waits for. */
export const verifySigned =
  (secretName: string, meanwhile: () => Promise<void> = async () => {}): NotificationVerifier =>
  async ({ body, headers }, { value }) => {
    const secret = value(secretName)
    if (secret === null) return { is: 'unavailable', reason: 'no_secret' }
    const content = parsed(body)
    if (content === null) return { is: 'malformed', message: 'the body is not JSON' }
    const given = Buffer.from(headers['x-signature'] ?? '', 'hex')
    const wanted = signatureOf(body, secret)
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return { is: 'unauthorized' }
    await meanwhile()
    const { id = '', type = '', queue = '', environment = null, statedAt = 0, app } = content
    if (app !== 'org.example') return { is: 'foreign', reason: 'app' }
    if (type === 'TEST' || type === 'GOSSIP') return { is: 'ignored', type, isTest: type === 'TEST', environment }
    return { is: 'accepted', notification: { id, type, subtype: null, environment, queue, statedAt } }
  }
