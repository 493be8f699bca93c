import type { PushInput } from '../../domain/growth/pushes/push.ts'
import { createPush } from '../../domain/growth/pushes/push.ts'
import { sealSecret } from '../../domain/integrations/config.ts'
import { transaction } from '../../store/transaction.ts'
import { pushSending } from '../../workflows/actions/push.ts'
import { googleTokens } from '../../workflows/outgoing/google-token.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { startApi, type TestApi } from './api.ts'
import { GOOGLE_UNAUTHENTICATED, googleAccount, googleTokenEndpoint } from './google.ts'
import { occurrenceOf } from './sent-to.ts'
import { storedIntegration } from './stored-integration.ts'
import { type Vendor, type VendorReply, type VendorRequest, vendor } from './vendor.ts'

export type TestEnvironment = { environment: number }
type Senders = { active?: 0 | 1 | 2; platform?: string; secret?: string | null }
type Sending = { user?: string | null; properties?: Record<string, string>; key?: string; signal?: AbortSignal }
type Answering = (request: VendorRequest) => VendorReply

export const TEMPLATE: PushInput = {
  name: 'n',
  title: 'Hi {{property.name}}',
  body: '{{event.name}} {{event.property.plan}}',
  image_url: 'https://example.com/a.png',
  deep_link: 'app://offers',
  data: { campaign: 'spring' },
  integration_id: null,
}
export const MESSAGE = 'projects/shop-1/messages/0:1'
export const NOTIFICATION = 'c0ffee00-0000-4000-8000-000000000000'
const MESSAGING = 'https://www.googleapis.com/auth/firebase.messaging'

/** The class of the thrown error, which decides the outcome of the step, and its message. */
export const thrown = (sent: Promise<unknown>) =>
  sent.then(
    () => 'taken',
    error => [error.constructor, error.message],
  )

/** An API beside Firebase and OneSignal, which accept everything until a test replaces their replies. */
export async function pushFixture() {
  const api: TestApi = await startApi()
  const out = outgoing({ allowPrivateNetwork: true })
  const account = googleAccount(() => `${google.url}/token`)
  const tokens = googleTokenEndpoint(account.publicKey, () => `${google.url}/token`, MESSAGING)
  const taking = (): { firebase: Answering; onesignal: Answering } => ({
    firebase: () => ({ status: 200, body: { name: MESSAGE } }),
    onesignal: () => ({ status: 200, body: { id: NOTIFICATION } }),
  })
  const answers = taking()
  const google: Vendor = await vendor(request => {
    if (request.path === '/token') return tokens.answer(request)
    if (request.method !== 'POST' || request.path !== '/v1/projects/shop-1/messages:send') return { status: 404, body: {} }
    return tokens.isKnown(request) ? answers.firebase(request) : GOOGLE_UNAUTHENTICATED
  })
  const onesignal = await vendor(request => {
    if (request.method !== 'POST' || request.path !== '/notifications') return { status: 404, body: {} }
    return request.headers.authorization === 'Key os_v2_app_1'
      ? answers.onesignal(request)
      : { status: 403, body: { errors: ['Access denied'] } }
  })
  const sender = () => pushSending({ pool: api.pool, secrets: api.secrets, outgoing: out, tokens: googleTokens(out) })

  return {
    api,
    google,
    onesignal,
    tokens,
    answers,
    /** A sender that keeps its tokens from one push to the next. */
    sender,
    here: async (): Promise<TestEnvironment> => ({ environment: (await api.newProject()).production }),
    /** Stores an integration of a vendor, with its secrets sealed. */
    async integration(
      { environment }: TestEnvironment,
      slug: 'firebase' | 'onesignal',
      { active = 1, platform = 'iOS', ...more }: Senders = {},
    ) {
      const name = slug === 'firebase' ? 'service_account_key' : 'rest_api_key'
      const secret = more.secret === undefined ? (slug === 'firebase' ? account.json() : 'os_v2_app_1') : more.secret
      const settings = slug === 'firebase' ? { firebase_app_id: 'f', base_url: google.url } : { app_id: 'app-1', base_url: onesignal.url }
      const id = await storedIntegration(api.pool, environment, { slug, active, platform, settings })
      const sealed = secret === null ? {} : { [name]: sealSecret({ secrets: api.secrets, environment, integration: id }, name, secret) }
      await api.pool.query('update integrations set secrets = $2 where id = $1', [id, JSON.stringify(sealed)])
      return id
    },
    template: async ({ environment }: TestEnvironment, more: Partial<PushInput> = {}) =>
      (await transaction(api.pool, tx => createPush(tx, environment, { ...TEMPLATE, ...more }))).id,
    send({ environment }: TestEnvironment, push: string, { user, properties = { fcm_token: 'tok', name: 'Ann' }, ...more }: Sending = {}) {
      const { key = 'run_1:push', signal = new AbortController().signal } = more
      const occurrence = occurrenceOf(user === undefined ? 'QON_ann' : user, properties)
      return sender()(environment, { push, key, signal, occurrence })
    },
    reset() {
      Object.assign(answers, taking())
      google.requests.length = 0
      onesignal.requests.length = 0
    },
    async stop() {
      await Promise.all([google.close(), onesignal.close(), out.close()])
      await api.stop()
    },
  }
}
export type PushFixture = Awaited<ReturnType<typeof pushFixture>>
