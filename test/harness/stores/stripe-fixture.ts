import Stripe from 'stripe'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import type { Arrival, FetchContext, StoreSettings } from '../../../workflows/stores/store-client.ts'
import { type StripeStore, stripeStore } from '../../../workflows/stores/stripe/client.ts'
import { settingsWith } from './google-fixture.ts'
import { LIVE_KEY, type StripeServer, stripeServer, TEST_KEY } from './stripe.ts'

export const LIVE_SECRET = 'whsec_live'
export const SANDBOX_SECRET = 'whsec_sandbox'
export const KEYS = { api_key: LIVE_KEY, webhook_secret: LIVE_SECRET, sandbox_api_key: TEST_KEY, sandbox_webhook_secret: SANDBOX_SECRET }

export type StripeFixture = {
  server: StripeServer
  out: Outgoing
  store: StripeStore
  settings: StoreSettings
  context: FetchContext
  /** The clock of the client, in ms. */
  clock: { now: number }
  close(): Promise<unknown>
}

/** A client of Stripe beside a server of its own. */
export async function stripeFixture(): Promise<StripeFixture> {
  const server = await stripeServer()
  const out = outgoing({ allowPrivateNetwork: true })
  const clock = { now: Date.parse('2026-06-01T00:00:00Z') }
  const store = stripeStore({ outgoing: out, apiUrl: server.url, now: () => clock.now })
  const settings = settingsWith(KEYS)
  const context: FetchContext = { settings, environment: 'production', signal: new AbortController().signal }
  return { server, out, store, settings, context, clock, close: () => Promise.all([server.close(), out.close()]) }
}

export type Signing = { secret?: string; at: number; receivedAt?: number; signed?: Uint8Array }

/** A push of an event. `at`: time of its signature, in ms; `signed`: what was signed in the place of the body. */
export async function arrivalOf(body: Uint8Array, { secret = LIVE_SECRET, at, receivedAt = at, signed = body }: Signing): Promise<Arrival> {
  const header = await Stripe.webhooks.generateTestHeaderStringAsync({
    payload: Buffer.from(signed).toString(),
    secret,
    timestamp: Math.floor(at / 1000),
  })
  return {
    body,
    headers: { 'stripe-signature': header },
    address: 'https://perennial.example/stores/stripe/7',
    receivedAtMs: receivedAt,
  }
}

/** The body of an event about an object. */
export function eventBody(type: string, object: object, { at, id = 'evt_1', livemode = true, ...more }: EventOptions): Buffer {
  const { before, ...rest } = more as { before?: object }
  const data = { object, ...(before && { previous_attributes: before }) }
  return Buffer.from(
    JSON.stringify({
      id,
      object: 'event',
      api_version: '2026-10-28.endive',
      type,
      created: Math.floor(at / 1000),
      livemode,
      data,
      ...rest,
    }),
  )
}

export type EventOptions = { at: number; id?: string; livemode?: boolean; before?: object; account?: string }
