// Whom the addresses of the console open to: sites, sessions, roles, projects and environments.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setRole } from '../../domain/operators/accounts.ts'
import { covers, type ProjectRole } from '../../domain/operators/roles.ts'
import { descriptions } from '../../schemas/generated/operations.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { consoleOf, type FakeConsole, fakeConsole, OF_CONSOLE } from '../harness/console.ts'
import { addressOf, allOperations, type Described, pathParameters, resourceParameters } from '../harness/described.ts'
import { ENDS_KEY, SANDBOX_ONLY } from '../harness/operation-requests.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { fullHome } from '../isolation/fixture.ts'

let api: TestApi
let pages: FakeConsole
beforeAll(async () => {
  pages = await fakeConsole()
  api = await startApi({ trustedProxies: 1, console: pages })
})
afterAll(async () => {
  await api.stop()
  await pages.remove()
})

let hosts = 0

async function signedIn(role: ProjectRole | null, { project = api.project, isOwner = false } = {}) {
  const { id, email } = await newOperator(api, { isOwner })
  if (role !== null) await transaction(api.pool, tx => setRole(tx, id, project.id, role))
  const browser = visitor(api.url, { 'X-Forwarded-For': `198.51.100.${++hosts}` })
  await browser.signIn(email)
  return { id, email, browser, call: consoleOf(api.url, browser) }
}

const at = (project: Pick<TestProjectKeys, 'id'>, kind = 'production') => `/${project.id}/${kind}`
const scopeOf = new Map<string, string>(descriptions.map(({ id, scope }) => [id, scope]))
const inSandbox = ({ id }: Described) => SANDBOX_ONLY.includes(id)

describe('another site', () => {
  const body = { id: 'of_a_form', product_ids: [] }
  const url = () => new URL(api.url)
  const cases: [string, () => Record<string, string>, number][] = [
    ['as the pages send it', () => ({}), 201],
    ['without X-Console', () => ({ 'X-Console': '' }), 403],
    ['with another value of it', () => ({ 'X-Console': 'true' }), 403],
    ['as a form', () => ({ 'Content-Type': 'application/x-www-form-urlencoded' }), 415],
    ['as text', () => ({ 'Content-Type': 'text/plain' }), 415],
    ['from another site', () => ({ 'Sec-Fetch-Site': 'cross-site' }), 403],
    ['from a neighbouring host', () => ({ 'Sec-Fetch-Site': 'same-site' }), 403],
    ['typed by hand', () => ({ 'Sec-Fetch-Site': 'none' }), 403],
    ['of an older browser', () => ({ 'Sec-Fetch-Site': '', Origin: api.url }), 201],
    ['of an older browser at another origin', () => ({ 'Sec-Fetch-Site': '', Origin: 'https://evil.example' }), 403],
    ['of an older browser at another port', () => ({ 'Sec-Fetch-Site': '', Origin: `http://${url().hostname}:1` }), 403],
    ['of an opaque origin', () => ({ 'Sec-Fetch-Site': '', Origin: 'null' }), 403],
    ['without origin', () => ({ 'Sec-Fetch-Site': '' }), 403],
    ['with a matching origin that another site claims', () => ({ 'Sec-Fetch-Site': 'cross-site', Origin: api.url }), 403],
  ]

  test('changes nothing: each way to send a change', async () => {
    const { call } = await signedIn('editor')
    for (const [n, [name, headers, status]] of cases.entries()) {
      const path = `${at(api.project)}/v4/entitlements`
      const answer = await call('POST', path, { ...body, id: `of_a_form_${n}` }, headers())
      expect([name, answer.status, answer.text]).toEqual([name, status, answer.text])
      expect([name, (await api.call('GET', `/v4/entitlements/of_a_form_${n}`)).status]).toEqual([name, status === 201 ? 200 : 404])
    }
    for (const [method, path] of [
      ['POST', '/session/end'],
      ['PATCH', '/me'],
    ] as const)
      expect([path, (await call(method, path, { preferences: {} }, { 'X-Console': '' })).status]).toEqual([path, 403])
    expect((await call('DELETE', `${at(api.project)}/v4/entitlements/of_a_form_0`, undefined, { 'X-Console': '' })).status).toBe(403)
    expect((await call('DELETE', `${at(api.project)}/v4/entitlements/of_a_form_0`)).status).toBe(204)
  })

  test('reads nothing', async () => {
    const { call } = await signedIn('viewer')
    const read = async (headers: Record<string, string>) => {
      const { status, headers: given } = await call('GET', `${at(api.project)}/v4/events`, undefined, headers)
      return [status, given.get('access-control-allow-origin'), given.get('cross-origin-resource-policy')]
    }
    expect(await read({ 'Sec-Fetch-Site': 'cross-site' })).toEqual([403, null, 'same-origin'])
    expect(await read({ 'Sec-Fetch-Site': 'same-site' })).toEqual([403, null, 'same-origin'])
    expect(await read({ 'Sec-Fetch-Site': '' })).toEqual([200, null, 'same-origin'])
  })

  test('gains nothing from a key, and the console none from a header', async () => {
    const call = consoleOf(api.url, { cookies: new Map() })
    const { status } = await call('GET', `${at(api.project)}/v4/events`, undefined, { Authorization: `Bearer ${api.project.secret}` })
    expect(status).toBe(401)
    const { browser } = await signedIn('admin')
    const cookie = `perennial=${browser.cookies.get('perennial')}`
    expect((await api.call('GET', '/v4/events', { key: null, headers: { Cookie: cookie } })).status).toBe(401)
  })
})

test('a role opens the operations whose scope it covers, and says so of the others', async () => {
  for (const role of ['viewer', 'editor', 'admin'] as const) {
    const project = await api.newProject()
    const { call } = await signedIn(role, { project })
    for (const operation of allOperations) {
      const path = Object.fromEntries(pathParameters(operation).map(name => [name, '!']))
      // What is refused after it was decided who may call the operation.
      const address = addressOf(operation, { path, query: { '?': 1 } })
      const { status, body } = await call(
        operation.method,
        `${at(project, inSandbox(operation) ? 'sandbox' : 'production')}${address}`,
        operation.body ? 1 : undefined,
      )
      const scope = scopeOf.get(operation.id)!
      const isOpen = covers(role, scope) && operation.auth !== 'oauth-only'
      expect([role, operation.id, status]).toEqual([role, operation.id, isOpen ? (status === 404 ? 404 : 400) : 403])
      if (!covers(role, scope)) expect(body.error.message).toBe(`your role has no scope ${scope}, which ${operation.id} needs`)
      if (isOpen && status === 404) expect(body.error.code).toBe('not_found')
    }
  }
}, 120_000)

test('nothing of another project or environment is found', async () => {
  const reads = allOperations.filter(one => one.auth !== 'oauth-only' && !inSandbox(one) && !ENDS_KEY.includes(one.id))
  const home = await fullHome(api, reads)
  const own = await api.newProject()
  const { call } = await signedIn('admin', { project: own })
  const inBoth = await signedIn('admin', { project: home.keys })
  for (const operation of reads) {
    const request = home.requests[operation.id]!
    const address = addressOf(operation, request)
    // The address of a project without a role answers nothing at all.
    const closed = await call(operation.method, `${at(home.keys)}${address}`, request.body)
    expect([operation.id, closed.status, closed.body.error.message]).toEqual([operation.id, 404, 'there is no such project'])
    if (resourceParameters(operation).length === 0) continue
    for (const [send, where] of [
      [call, at(own)],
      [inBoth.call, at(home.keys, 'sandbox')],
    ] as const) {
      const answer = await send(operation.method, `${where}${address}`, request.body)
      const expected = operation.id === 'v4CreatePurchase' ? 400 : 404
      expect([operation.id, where, answer.status, answer.text]).toEqual([operation.id, where, expected, answer.text])
      expect(home.before.ids.filter(id => answer.text.includes(id) && !JSON.stringify(request).includes(id))).toEqual([])
    }
  }
}, 180_000)

describe('what is sensitive', () => {
  const old = (id: string) =>
    api.pool.query(`update operator_sessions set authenticated_at = clock_timestamp() - interval '11 minutes' where operator = $1`, [id])

  test('asks for the password again after ten minutes; a dry run does not', async () => {
    const project = await api.newProject()
    const { id, call } = await signedIn('admin', { project })
    await old(id)
    expect((await call('GET', '/session')).body.again_until).toBeNull()
    const v4 = `${at(project)}/v4`
    const { body: before } = await call('GET', `${v4}/project-settings`)
    const refused = [
      await call('POST', `${v4}/project-settings/regenerate-secret`),
      await call('POST', `${v4}/api-keys`, { name: 'a key', scopes: ['events:read'] }),
      await call('DELETE', `${v4}/api-keys/key_1`),
      await call('DELETE', `${v4}/customers/nobody`),
      await call('POST', `${v4}/project-settings/stores/apple`, {}),
      await call('POST', `${v4}/experiments/e1/status`, { status: 'finished' }),
    ]
    expect(refused.map(({ status, body }) => [status, body?.error.code])).toEqual(refused.map(() => [403, 'sign_in_again']))
    expect((await call('GET', `${v4}/project-settings`)).body).toEqual(before)
    expect((await call('DELETE', `${v4}/customers/nobody`, undefined, { 'Dry-Run': 'true' })).status).toBe(404)
    await api.pool.query('update operator_sessions set authenticated_at = clock_timestamp() where operator = $1', [id])
    expect((await call('DELETE', `${v4}/customers/nobody`)).status).toBe(404)
  })

  test('is not in an answer: a page of its own shows a new key, once', async () => {
    const project = await api.newProject()
    const { browser, call } = await signedIn('admin', { project })
    const shown = await call('GET', `${at(project)}/v4/project-settings`)
    expect(shown.body.secret_key).toBe(`…${project.secret.slice(-4)}`)
    const made = await call('POST', `${at(project)}/v4/api-keys`, { name: 'of the console', scopes: ['events:read'] })
    expect([made.status, made.body.key]).toEqual([201, expect.stringMatching(/^….{4}$/)])
    const address = new URL(made.headers.get('reveal-url')!).pathname
    await browser.open(address)
    const page = await browser.send(address, {})
    const key = /pnk_[\w-]+/.exec(page.text)![0]
    expect(key.slice(-4)).toBe(made.body.key.slice(-4))
    expect((await api.call('GET', '/v4/events', { key })).status).toBe(200)
    expect((await browser.open(address)).status).toBe(404)
    const { body } = await call('GET', `${at(project)}/v4/api-keys`)
    expect(body.data[0].created_by.kind).toBe('operator')
  })

  test('is given on with no more than the role has', async () => {
    const project = await api.newProject()
    const { call } = await signedIn('editor', { project })
    const { status, body } = await call('POST', `${at(project)}/v4/api-keys`, { name: 'more', scopes: ['customers:write'] })
    expect([status, body.error.code]).toEqual([403, 'control_forbidden'])
  })
})

describe('a session that ends', () => {
  test('ends in the middle of a form: what is sent then is refused and changes nothing', async () => {
    const { id, call } = await signedIn('editor')
    expect((await call('GET', `${at(api.project)}/v4/entitlements`)).status).toBe(200)
    await api.pool.query(
      `update operator_sessions set last_used_at = clock_timestamp() - interval '8 hours 1 second' where operator = $1`,
      [id],
    )
    const late = await call('POST', `${at(api.project)}/v4/entitlements`, { id: 'late', product_ids: [] }, { 'Idempotency-Key': 'late' })
    expect([late.status, late.body.error.code]).toEqual([401, 'control_unauthorized'])
    expect((await api.call('GET', '/v4/entitlements/late')).status).toBe(404)
  })

  test('loses a role at once', async () => {
    const { id, call } = await signedIn('editor')
    await api.pool.query('delete from operator_roles where operator = $1', [id])
    expect((await call('GET', `${at(api.project)}/v4/entitlements`)).status).toBe(404)
  })
})

describe('an address of the console', () => {
  test.each([
    '/nothing',
    '/1/production/v3/x',
    '/1/production',
    '/01/production/v4/events',
    '/1/staging/v4/events',
    '/x/production/v4/events',
  ])('%s is 404', async path => {
    const { call } = await signedIn('viewer')
    expect((await call('GET', path)).status).toBe(404)
  })

  test('does not exist without the console', async () => {
    const without = await startApi()
    const urls = ['/console', '/console/charts', '/console/api/session', '/console/assets/x.js']
    const found = await Promise.all(urls.map(async path => (await fetch(without.url + path, { headers: OF_CONSOLE })).status))
    const first = await fetch(without.url, { headers: { Accept: 'text/html' }, redirect: 'manual' })
    await without.stop()
    expect([found, first.headers.get('location')]).toEqual([[404, 404, 404, 404], '/docs'])
  })
})
