// A write-only secret must not be readable by whoever may change an address and press test.
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Provider, Setting } from '../../domain/integrations/provider.ts'
import { PROVIDERS } from '../../domain/integrations/providers.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { must } from '../harness/integrations.ts'
import { receiver } from '../harness/receiver.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const KEY_FILE = JSON.stringify({ type: 'service_account', client_email: 'a@b.example', private_key: 'x' })
const SIGNING_SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`

const VALUES: Record<Setting['kind'], unknown> = {
  text: 'very-secret',
  long: KEY_FILE,
  url: 'https://a.example.org/path',
  email: 'a@example.org',
  port: 465,
  boolean: true,
  emails: ['a@example.org'],
  signing_secret: SIGNING_SECRET,
}
const OTHER: Partial<Record<Setting['kind'], unknown>> = { text: 'other', url: 'https://b.example.org/path', port: 466, boolean: false }

const all = ({ settings }: Provider) => Object.fromEntries(settings.map(({ name, kind }) => [name, VALUES[kind]]))
const secretsOf = ({ settings }: Provider) => settings.filter(({ secret }) => secret).map(({ name }) => name)
const without = (settings: Record<string, unknown>, names: string[]) =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))

async function create({ slug, stores }: Provider): Promise<string> {
  const body = { title: slug, integration: slug, target_platform: stores[0] }
  return `/v4/integrations/${(await must(api.call, 'POST', '/v4/integrations', body)).id}/config`
}
const put = (path: string, settings: Record<string, unknown>) => api.call('PUT', path, { body: { settings } })

const cases = PROVIDERS.flatMap(provider =>
  provider.settings
    .filter(({ kind, isHost, secret }) => (kind === 'url' || isHost) && !secret)
    .map(({ name, kind }) => ({ provider, slug: provider.slug, name, kind })),
)

test('every provider with a secret, but one whose address is the secret, has an address', () => {
  const covered = new Set(cases.map(({ slug }) => slug))
  const open = PROVIDERS.filter(provider => secretsOf(provider).length > 0 && !covered.has(provider.slug))
  expect(open.map(({ slug }) => slug)).toEqual(['slack'])
})

test.each(cases)('$slug: another $name needs its secrets again', async ({ provider, name, kind }) => {
  const path = await create(provider)
  const first = all(provider)
  expect((await put(path, first)).status).toBe(200)
  const secrets = secretsOf(provider)
  const plain = without(first, secrets)
  const moved = { ...plain, [name]: OTHER[kind] }

  const refused = await put(path, moved)
  expect([refused.status, refused.body.error?.details?.map(({ field }: { field: string }) => field)]).toEqual([
    400,
    secrets.map(secret => `settings.${secret}`),
  ])
  expect((await must(api.call, 'GET', path)).settings[name]).toEqual(first[name])
  // Each of them, not only one.
  if (secrets.length > 1) expect((await put(path, { ...moved, [secrets[0]!]: first[secrets[0]!] })).status).toBe(400)

  expect((await put(path, plain)).status).toBe(200)
  if (kind === 'url') expect((await put(path, { ...plain, [name]: 'https://A.example.org:443/another?path' })).status).toBe(200)
  expect((await put(path, { ...moved, ...Object.fromEntries(secrets.map(secret => [secret, first[secret]])) })).status).toBe(200)
  expect((await put(path, { ...plain, ...Object.fromEntries(secrets.map(secret => [secret, null])) })).status).toBe(200)
})

test("the vendor's own address is an address, too", async () => {
  const amplitude = PROVIDERS.find(({ slug }) => slug === 'amplitude')!
  const path = await create(amplitude)
  await put(path, { api_key: 'k', base_url: 'https://proxy.example.org' })
  expect((await put(path, {})).status).toBe(400)
  expect((await put(path, { api_key: 'k' })).status).toBe(200)
  expect((await put(path, { base_url: 'https://proxy.example.org' })).status).toBe(400)
})

test('a webhook may lose an address, and gain one where the other one is', async () => {
  const webhooks = PROVIDERS.find(({ slug }) => slug === 'webhooks')!
  const path = await create(webhooks)
  await put(path, { url: 'https://a.example.org/hook', authorization_token: 't' })
  expect((await put(path, { url: 'https://a.example.org/hook', sandbox_url: 'https://a.example.org/sandbox' })).status).toBe(200)
  expect((await put(path, { sandbox_url: 'https://a.example.org/sandbox' })).status).toBe(200)
  expect((await put(path, { sandbox_url: 'https://b.example.org/sandbox' })).status).toBe(400)
})

test('a password of a mail server never reaches another server', async () => {
  const email = PROVIDERS.find(({ slug }) => slug === 'email')!
  const path = await create(email)
  const settings = { host: '127.0.0.1', port: 2525, from: 'a@example.org', recipients: ['a@example.org'], secure: false, username: 'u' }
  expect((await put(path, { ...settings, password: 'very-secret' })).status).toBe(200)
  let connections = 0
  const thief = createServer(() => connections++)
  await new Promise<void>(resolve => thief.listen(0, '127.0.0.1', resolve))
  const { port } = thief.address() as { port: number }
  expect((await put(path, { ...settings, port })).status).toBe(400)
  await api.call('POST', path.replace('/config', '/test'))
  expect(connections).toBe(0)
  thief.close()
})

test('a moved webhook is not signed with a former secret', async () => {
  const webhooks = PROVIDERS.find(({ slug }) => slug === 'webhooks')!
  const [home, away] = [await receiver(), await receiver()]
  const path = await create(webhooks)
  const send = () => must(api.call, 'POST', path.replace('/config', '/test'), {})
  const signatures = (to: typeof home) => String(to.received.at(-1)!.headers['webhook-signature']).split(' ').length
  await put(path, { url: home.url, signing_secret: SIGNING_SECRET })
  await put(path, { url: home.url, signing_secret: null })
  await send()
  expect(signatures(home)).toBe(2)
  expect((await put(path, { url: away.url, signing_secret: null })).status).toBe(200)
  await send()
  expect(signatures(away)).toBe(1)
  await Promise.all([home.close(), away.close()])
})
