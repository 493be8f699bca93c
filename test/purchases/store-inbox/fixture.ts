import { expect } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { type SignedContent, signed, signedContent, verifySigned } from '../../harness/signed-store.ts'
import { inboxOf } from '../../harness/store-inbox.ts'

export const SECRET = 'the secret that the store signs with'

type Sent = { store?: string; to?: string | number; method?: string; headers?: Record<string, string>; url?: string }
export type Reply = { status: number; headers: Headers; text: string; error: { code: string; type: string; message: string } | null }
export type Receiving = Awaited<ReturnType<typeof startReceiving>>

/** An API with stores that sign with `SECRET`; each test calls `begin` for a project of its own. `limitMs`: of the answer. */
export async function startReceiving(limitMs?: number) {
  // What the check of a notification waits for.
  let meanwhile: () => Promise<void> = async () => {}
  const held = () => meanwhile()
  const api: TestApi = await startApi({
    rateLimit: { perSecond: 0.001, burst: 50 },
    stores: {
      verifiers: {
        apple: verifySigned('shared_secret', held),
        google: verifySigned('package_name', held),
        stripe: verifySigned('webhook_secret', held),
      },
      ...(limitMs && { limitMs }),
    },
  })
  let project: TestProjectKeys = api.project

  const configure = async (store: string, body: object) =>
    expect((await api.call('POST', `/v4/project-settings/stores/${store}`, { key: project.secret, body })).status).toBe(200)

  async function send(body: string | Uint8Array | null, sent: Sent = {}): Promise<Reply> {
    const { store = 'apple', to = project.id, method = 'POST', headers = {}, url = api.url } = sent
    const response = await fetch(`${url}/stores/${store}/${to}`, { method, headers, ...(body !== null && { body: body as string }) })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      error: text.startsWith('{"error"') ? JSON.parse(text).error : null,
    }
  }

  const stored = async () => (await inboxOf(api.pool, project.id)).length

  return {
    api,
    project: () => project,
    async begin() {
      meanwhile = async () => {}
      project = await api.newProject()
    },
    waitFor(what: () => Promise<void>) {
      meanwhile = what
    },
    configure,
    configureApple: () => configure('apple', { bundle_id: 'org.example', shared_secret: SECRET }),
    send,
    push(given: Partial<SignedContent> = {}, { secret = SECRET, headers, ...sent }: Sent & { secret?: string } = {}) {
      const body = JSON.stringify(signedContent(given))
      return send(body, { ...sent, headers: { ...signed(body, secret), ...headers } })
    },
    stored,
    /** How many notifications with these labels were counted. */
    async counted(labels: string): Promise<number> {
      const text = await (await fetch(`${api.url}/metrics`)).text()
      const line = text.split('\n').find(one => one.startsWith('perennial_store_notifications_total') && one.includes(labels))
      return line === undefined ? 0 : Number(line.split(' ').at(-1))
    },
    /** The answer is an error of v4's shape, and nothing was recorded. */
    async expectRefusal(reply: Reply, status: number, code: string, type = 'request') {
      expect([reply.status, reply.error?.code, reply.error?.type]).toEqual([status, code, type])
      expect(Object.keys(reply.error ?? {})).toEqual(['type', 'code', 'message'])
      expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(reply.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,}$/)
      expect(await stored()).toBe(0)
    },
  }
}
