// What the pages of the console ask: who is signed in, and the operations of v4 with the role of the operator.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SESSION_RATE } from '../../api/console/serve.ts'
import { setRole } from '../../domain/operators/accounts.ts'
import type { ProjectRole } from '../../domain/operators/roles.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { consoleOf, type FakeConsole, fakeConsole } from '../harness/console.ts'
import { newOperator, visitor } from '../harness/operators.ts'

let api: TestApi
let pages: FakeConsole
let other: TestProjectKeys
beforeAll(async () => {
  pages = await fakeConsole()
  api = await startApi({ trustedProxies: 1, console: pages, sessionRateLimit: { perSecond: 1, burst: 30 } })
  other = await api.newProject()
})
afterAll(async () => {
  await api.stop()
  await pages.remove()
})

let hosts = 0

async function signedIn(role: ProjectRole | null, { isOwner = false } = {}) {
  const { id, email } = await newOperator(api, { isOwner })
  if (role !== null) await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const browser = visitor(api.url, { 'X-Forwarded-For': `198.51.100.${++hosts}` })
  expect((await browser.signIn(email)).location).toBe('/console')
  return { id, email, browser, call: consoleOf(api.url, browser) }
}

const at = (project: { id: number }, kind = 'production') => `/${project.id}/${kind}/v4`

describe('the session', () => {
  test('names the operator, the projects with a role, and until when it lasts', async () => {
    const { id, email, call } = await signedIn('editor')
    const { status, body, headers } = await call('GET', '/session')
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    const now = Date.now() / 1000
    expect(body).toEqual({
      operator: { id, email, name: 'Ada', is_owner: false, preferences: {} },
      projects: [{ id: String(api.project.id), name: 'Test', role: 'editor', environments: ['production', 'sandbox'] }],
      again_until: expect.any(Number),
      idle_until: expect.any(Number),
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      live: { topics: expect.any(Array) },
      console: { build: 'stamp-of-these-pages' },
    })
    expect(body.again_until - now).toBeGreaterThan(590)
    expect(body.idle_until - now).toBeGreaterThan(8 * 3600 - 60)
  })

  test('is needed', async () => {
    const call = consoleOf(api.url, visitor(api.url))
    for (const path of ['/session', '/me', `${at(api.project)}/events`, '/nothing']) {
      const { status, body } = await call('GET', path)
      expect([path, status, body.error.code]).toEqual([path, 401, 'control_unauthorized'])
    }
  })

  test('ends with sign-out', async () => {
    const { call } = await signedIn('viewer')
    const { status, setCookies } = await call('POST', '/session/end')
    expect([status, setCookies]).toEqual([204, [expect.stringMatching(/^perennial=; .*Max-Age=0/)]])
    expect((await call('GET', '/session')).status).toBe(401)
  })
})

test('operations of v4 answer as the API does, and their audit entries name the operator', async () => {
  const { email, call } = await signedIn('admin')
  const body = { id: 'pro', product_ids: [] }
  const make = () => call('POST', `${at(api.project)}/entitlements`, body, { 'Idempotency-Key': 'k1' })
  const made = await make()
  expect([made.status, made.headers.get('location')]).toEqual([201, '/v4/entitlements/pro'])
  const again = await make()
  expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, made.text, 'true'])
  expect((await api.call('GET', '/v4/entitlements/pro')).body).toEqual((await call('GET', `${at(api.project)}/entitlements/pro`)).body)
  const log = await call('GET', `${at(api.project)}/audit-log?filter[actor][]=operator`)
  expect(log.body.data).toEqual([
    expect.objectContaining({ actor: { kind: 'operator', id: email }, operation: 'v4CreateEntitlement', resource_id: 'pro' }),
  ])
})

describe('a role', () => {
  test('is needed: without one a project is not there', async () => {
    const { call } = await signedIn('admin')
    for (const path of [at(other), at(other, 'sandbox'), '/99999/production/v4', '/4294967296/production/v4'])
      expect([path, (await call('GET', `${path}/events`)).body.error]).toMatchObject([path, { code: 'not_found' }])
  })
})

test('a session has a limit of its own, of 50 requests a second', async () => {
  expect(SESSION_RATE.perSecond).toBe(50)
  const { call } = await signedIn('viewer')
  const answers = await Promise.all(Array.from({ length: 45 }, () => call('GET', '/nothing')))
  const [refused] = answers.filter(({ status }) => status === 429)
  expect([refused!.headers.get('retry-after'), refused!.body.error.code]).toEqual(['1', 'rate_limit_exceeded'])
  const other = await signedIn('viewer')
  expect((await other.call('GET', '/session')).status).toBe(200)
})

test('the status is shown to owners of the installation alone', async () => {
  const { call } = await signedIn('admin')
  const { status, body } = await call('GET', '/status')
  expect([status, body.error.code]).toEqual([403, 'control_forbidden'])
  const owner = await signedIn(null, { isOwner: true })
  const seen = await owner.call('GET', '/status')
  expect([seen.status, seen.text]).toEqual([200, expect.any(String)])
  expect(seen.body).toMatchObject({
    status: 'ok',
    database: { state: 'ready', version: expect.stringMatching(/^\d+/), bytes: expect.any(Number) },
    workers: [],
    figures: { overdue: 0, consumer_lag_seconds: {} },
    late: [],
  })
  expect(seen.body.database.bytes).toBeGreaterThan(1_000_000)
  expect(seen.body.disk.free_bytes).toBeGreaterThan(0)
})

describe('preferences', () => {
  test('are changed one by one and stay with the operator', async () => {
    const { call } = await signedIn('viewer')
    const change = async (preferences: object) => {
      const { status, body } = await call('PATCH', '/me', { preferences })
      return [status, body.preferences]
    }
    expect(await change({ zone: 'Asia/Kathmandu', theme: 'dark' })).toEqual([200, { zone: 'Asia/Kathmandu', theme: 'dark' }])
    const last = { zone: 'Asia/Kathmandu', first_weekday: 0, pins: ['mrr', 'arr'] }
    expect(await change({ first_weekday: 0, pins: ['mrr', 'arr'], theme: null })).toEqual([200, last])
    expect((await call('GET', '/session')).body.operator.preferences).toEqual(last)
  })

  test.each([
    [{ zone: 'Mars/Olympus' }, 'preferences.zone'],
    [{ theme: 'blue' }, 'preferences.theme'],
    [{ first_weekday: 7 }, 'preferences.first_weekday'],
    [{ pins: [''] }, 'preferences.pins[0]'],
    [{ colour: 'red' }, 'preferences.colour'],
  ])('%j are refused', async (preferences, field) => {
    const { call } = await signedIn('viewer')
    const { status, body } = await call('PATCH', '/me', { preferences })
    expect([status, body.error.code, body.error.details[0].field]).toEqual([400, 'invalid_data', field])
  })
})
