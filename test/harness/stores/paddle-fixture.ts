import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { type PaddleBilling, paddleBilling } from '../../../workflows/stores/paddle/client.ts'
import type { Arrival, FetchContext, StoreSettings } from '../../../workflows/stores/store-client.ts'
import { settingsWith } from './google-fixture.ts'
import { type PaddleServer, paddleServer, paddleSignature } from './paddle.ts'

const SECRETS = { webhook_secret: 'pdl_ntfset_live', sandbox_webhook_secret: 'pdl_ntfset_sandbox' }

export type PaddleFixture = {
  live: PaddleServer
  sandbox: PaddleServer
  out: Outgoing
  paddle: PaddleBilling
  settings: StoreSettings
  context: FetchContext
  /** The settings with other values; null removes one. */
  settingsBut(values: Record<string, string | null>): StoreSettings
  close(): Promise<unknown>
}

/** A client of Paddle Billing beside both accounts. */
export async function paddleFixture(now: () => number = Date.now): Promise<PaddleFixture> {
  const [live, sandbox] = await Promise.all([paddleServer(), paddleServer()])
  const out = outgoing({ allowPrivateNetwork: true })
  const paddle = paddleBilling({ outgoing: out, urls: { production: live.url, sandbox: sandbox.url }, now })
  const values = { ...SECRETS, api_key: live.apiKey, sandbox_api_key: sandbox.apiKey }
  const settings = settingsWith(values)
  const context: FetchContext = { settings, environment: 'production', signal: new AbortController().signal }
  const settingsBut = (other: Record<string, string | null>) => settingsWith({ ...values, ...other })
  const close = () => Promise.all([live.close(), sandbox.close(), out.close()])
  return { live, sandbox, out, paddle, settings, context, settingsBut, close }
}

/** A notification as Paddle posts it, signed at `ms` unless `signature` is given. */
export const paddleArrival = (body: Uint8Array, ms: number, signature = paddleSignature(body, SECRETS.webhook_secret, ms)): Arrival => ({
  body,
  headers: { 'paddle-signature': signature },
  address: 'https://perennial.example/stores/paddle/7',
  receivedAtMs: ms,
})

export const PADDLE_SECRETS = SECRETS
