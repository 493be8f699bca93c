// A page of another origin, in a real browser: it reads answers and errors of v3, and nothing of v4.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { inBrowser } from '../harness/chromium.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ addressRateLimit: { perSecond: 1e-6, burst: 9 } })
})
afterAll(() => api.stop())

// As an SDK asks in a web app: every header that v3 allows, so that the browser sends a preflight.
const SCRIPT = (url: string, projectKey: string, secretKey: string) => `
  const base = ${JSON.stringify(url)}
  const headers = key => ({
    Authorization: 'Bearer ' + key, 'Content-Type': 'application/json; charset=utf-8', Accept: 'application/json', Platform: 'web',
    'Platform-Version': '1.2.3', 'User-Id': '', 'User-Locale': 'de', Source: 'web', 'Source-Version': '1.2.3', 'App-Version': '2',
    Country: 'DE', Attempt: '1', Trigger: 'start',
  })
  const ask = async (method, path, body, key = ${JSON.stringify(projectKey)}) => {
    const answer = await fetch(base + path, { method, headers: headers(key), ...(body !== undefined && { body: JSON.stringify(body) }) })
    return { status: answer.status, id: answer.headers.get('x-request-id') !== null, retry: answer.headers.get('retry-after') !== null,
      body: await answer.json() }
  }
  const simple = await fetch(base + '/v3/users/page').then(async answer => ({ status: answer.status, body: await answer.json() }))
  const seen = {
    simple,
    created: await ask('POST', '/v3/users/page', {}),
    read: await ask('GET', '/v3/users/page'),
    saved: await ask('POST', '/v3/users/page/properties', [{ key: 'plan', value: 'free' }]),
    identity: await ask('POST', '/v3/identities/page%40example.com', { user_id: 'page' }),
    access: await ask('GET', '/v3/users/page/entitlements'),
    revoked: await ask('DELETE', '/v3/users/page/entitlements/none', undefined, ${JSON.stringify(secretKey)}),
    forbidden: await ask('DELETE', '/v3/users/page/entitlements/none'),
    missing: await ask('GET', '/v3/users/nobody'),
    nowhere: await ask('GET', '/v3/nowhere'),
    unknown: await ask('GET', '/v3/users/page', undefined, 'nonsense'),
    limited: await ask('GET', '/v3/users/page'),
  }
  const v4 = await fetch(base + '/v4/users', { headers: { Authorization: 'Bearer ' + ${JSON.stringify(secretKey)} } }).then(() => 'read', () => 'kept')
  return { ...seen, v4 }
`

test('a page of another origin reads every answer and every error of v3, and nothing of v4', async () => {
  const seen = await inBrowser(SCRIPT(api.url, api.project.projectKey, api.project.secret))
  const code = (status: number, code: string) => ({ status, id: true, body: { error: { code } } })
  expect(seen).toMatchObject({
    simple: { status: 401, body: { error: { code: 'control_unauthorized' } } },
    created: { status: 201, id: true, body: { id: 'page', environment: 'prod' } },
    read: { status: 200, body: { id: 'page' } },
    saved: { status: 200, body: { savedProperties: [{ key: 'plan', value: 'free' }], propertyErrors: [] } },
    identity: { status: 201, body: { id: 'page@example.com', user_id: 'page' } },
    access: { status: 200, body: { object: 'list', data: [] } },
    revoked: code(400, 'invalid_entitlement_data'),
    forbidden: code(403, 'control_forbidden'),
    missing: code(404, 'not_found'),
    nowhere: code(404, 'invalid_request'),
    unknown: code(401, 'control_unauthorized'),
    limited: { ...code(429, 'rate_limit_exceeded'), retry: true },
    v4: 'kept',
  })
}, 300_000)
