// What SDKs say in headers is stored with the user that the request names, before the operation.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Client, v3Client } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const stored = async (id: string) => {
  const columns = 'platform, os_version, locale, country, app_version, sdk_version'
  return (await api.pool.query(`select ${columns} from users where id = $1`, [id])).rows[0]
}
/** The version of the row: every write makes another one. */
const version = async (id: string) =>
  (await api.pool.query('select xmin::text, ctid::text, last_seen_at from users where id = $1', [id])).rows[0]
const NOTHING = { platform: null, os_version: null, locale: null, country: null, app_version: null, sdk_version: null }
const IOS = {
  Platform: 'iOS',
  'Platform-Version': '14.2',
  'User-Locale': 'de',
  Source: 'swift',
  'Source-Version': '9.1.0',
  'app-version': '2.1.4',
  country: 'de',
  Attempt: '2',
  Trigger: 'init',
}
const STORED = { platform: 'iOS', os_version: '14.2', locale: 'de', country: 'DE', app_version: '2.1.4', sdk_version: '9.1.0' }

describe('stored with', () => {
  test('the user of the path, in whichever environment, and also when the operation is refused', async () => {
    await v3('POST', '/v3/users/h1', { body: { environment: 'sandbox' }, headers: IOS })
    expect(await stored('h1')).toEqual(NOTHING)
    expect((await v3('POST', '/v3/users/h1', { headers: IOS })).status).toBe(422)
    expect(await stored('h1')).toEqual(STORED)
    const { body } = await api.call('GET', '/v4/customers/h1', { key: api.project.sandbox })
    expect(JSON.stringify(body)).toContain('"DE"')
  })

  test('the user of the header where the path names none, and no other', async () => {
    for (const id of ['h2', 'h3']) await v3('POST', `/v3/users/${id}`)
    await v3('GET', '/v3/identities/nobody', { headers: { ...IOS, 'User-Id': 'h2' } })
    await v3('GET', '/v3/users/h2', { headers: { 'User-Id': 'h3', country: 'FR' } })
    expect([await stored('h2'), await stored('h3')]).toEqual([{ ...STORED, country: 'FR' }, NOTHING])
    expect((await v3('GET', '/v3/identities/nobody', { headers: { 'User-Id': '' } })).status).toBe(404)
    expect((await v3('GET', '/v3/identities/nobody', { headers: { 'User-Id': 'who' } })).status).toBe(404)
  })

  test('nobody, when the request has a wrong shape', async () => {
    await v3('POST', '/v3/users/h4')
    expect((await v3('POST', '/v3/users/h4/properties', { body: {}, headers: IOS })).status).toBe(400)
    expect(await stored('h4')).toEqual(NOTHING)
  })
})

test('empty and unknown values are ignored, and long ones are cut', async () => {
  await v3('POST', '/v3/users/h5')
  await v3('GET', '/v3/users/h5', { headers: IOS })
  await v3('GET', '/v3/users/h5', { headers: { Platform: 'toaster', country: 'Germany', 'User-Locale': '', 'app-version': ' ' } })
  expect(await stored('h5')).toEqual(STORED)
  await v3('GET', '/v3/users/h5', { headers: { 'app-version': 'x'.repeat(300) } })
  expect(await stored('h5')).toEqual({ ...STORED, app_version: 'x'.repeat(255) })
})

test.each([
  ['macOS', 'iOS'],
  ['IPADOS', 'iOS'],
  ['visionOS', 'iOS'],
  ['ANDROID', 'Android'],
  ['web', null],
])('the platform %s is %s', async (name, platform) => {
  await v3('POST', `/v3/users/p-${name}`)
  await v3('GET', `/v3/users/p-${name}`, { headers: { Platform: name, 'Platform-Version': '3' } })
  expect(await stored(`p-${name}`)).toMatchObject({ platform, os_version: platform && '3' })
})

describe('writes', () => {
  test('nothing when nothing is new', async () => {
    await v3('POST', '/v3/users/w1')
    await v3('GET', '/v3/users/w1', { headers: IOS })
    await api.pool.query(`update users set last_seen_at = now() + interval '1 h' where id = 'w1'`)
    const before = await version('w1')
    for (let i = 0; i < 5; i++) await v3('GET', '/v3/users/w1', { headers: IOS })
    expect(await version('w1')).toEqual(before)
  })

  test('the time of the last request', async () => {
    await v3('POST', '/v3/users/w2')
    await api.pool.query(`update users set last_seen_at = '2026-01-01' where id = 'w2'`)
    await v3('GET', '/v3/users/w2')
    const { last_seen_at } = await version('w2')
    expect(Date.now() - Date.parse(last_seen_at)).toBeLessThan(60_000)
    const seen = await version('w2')
    await v3('GET', '/v3/users/w2')
    expect(await version('w2')).toEqual(seen)
  })

  test('of racing requests everything', async () => {
    await v3('POST', '/v3/users/w3')
    const headerLines = Object.entries(IOS)
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        v3('GET', '/v3/users/w3', { headers: Object.fromEntries([headerLines[i % headerLines.length]!]) }),
      ),
    )
    expect(await stored('w3')).toEqual(STORED)
  })
})
