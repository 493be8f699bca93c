// The life of an app with a client SDK, in the order in which the SDK asks, with the bytes of every answer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'
import { product } from '../harness/purchases.ts'
import { type V3Client, v3Client } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const [PHONE, TABLET, LATER] = ['1', '2', '3'].map(digit => `QON_${digit.repeat(32)}`) as [string, string, string]
const DEVICE = {
  Platform: 'iOS',
  'Platform-Version': '19.1',
  'User-Locale': 'de',
  Source: 'iOS',
  'Source-Version': '6.1.0',
  'app-version': '2.1.4',
  country: 'DE',
}

let attempt = 0
/** The status and the bytes of the answer, with times of now as `<now>`. */
async function fetchOne(method: string, path: string, body?: unknown, user = PHONE): Promise<string> {
  const headers = { ...DEVICE, 'User-Id': user, Attempt: String(++attempt), Trigger: 'start' }
  const key = `test_${api.project.projectKey}`
  const { status, text, headers: answered } = await v3(method, path, { key, headers, ...(body !== undefined && { body }) })
  expect(answered['x-request-id']).toMatch(/./)
  expect(answered['access-control-expose-headers']).toBe('Retry-After, X-Clock, X-Request-Id')
  const near = (digits: string) => (Math.abs(Number(digits) - Date.now() / 1000) < 120 ? '<now>' : digits)
  return `${status} ${text.replaceAll(api.url, '').replaceAll(/\b\d{10}\b/g, near)}`
}
const error = (status: number, type: string, code: string, message: string) =>
  `${status} {"error":{"type":"${type}","code":"${code}","message":"${message}"},"_meta":{"reference":"/docs/errors#${code}"}}`

test('from the first start to a new user on the same device', async () => {
  const sandbox = api.project.sandbox
  await product(api, { id: 'monthly', apple_product_id: 'com.example.monthly' }, sandbox)
  const setUp = async (path: string, body?: object) => {
    const answer = await api.call('POST', path, { key: sandbox, ...(body && { body }) })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body.id as string
  }
  await setUp('/v4/entitlements', { id: 'premium', product_ids: ['monthly'] })
  const screen = await setUp('/v4/screens', { name: 'Offer' })
  await setUp(`/v4/screens/${screen}/publish`)
  await api.pool.query(`update screens set context_key = 'offer', content = '{"html":"<p>Hi</p>"}' where id = $1`, [screen])
  const make = growth(api, sandbox)
  const config = await make.configuration({ title: 'Hi', image: null }, { context_key: 'home', name: 'Home' })
  const pinned = await make.configuration({ title: 'You' }, { context_key: 'home', name: 'You', segment_percent: 0 })

  // The first start: the app asks for a user that the service does not know yet, and creates it; a lost answer is asked for again.
  expect(await fetchOne('GET', `/v3/users/${PHONE}`)).toBe(error(404, 'resource', 'not_found', 'User not found'))
  expect(await fetchOne('POST', `/v3/users/${PHONE}`, { environment: 'sandbox' })).toBe(
    `201 {"id":"${PHONE}","created":<now>,"environment":"sandbox"}`,
  )
  expect(await fetchOne('POST', `/v3/users/${PHONE}`, { environment: 'sandbox' })).toBe(
    error(422, 'resource', 'already_exists', 'User with given uid already exists'),
  )
  expect(await fetchOne('GET', `/v3/users/${PHONE}`)).toBe(`200 {"id":"${PHONE}","created":<now>,"environment":"sandbox"}`)
  expect(
    await fetchOne('POST', `/v3/users/${PHONE}/properties`, [
      { key: '_q_email', value: 'ada@example.com' },
      { key: 'plan', value: 'free' },
      { key: '!', value: 'x' },
    ]),
  ).toBe(
    '200 {"savedProperties":[{"key":"_q_email","value":"ada@example.com"},{"key":"plan","value":"free"}],' +
      '"propertyErrors":[{"key":"!","error":"Property key: !. Error: invalid key format."}]}',
  )
  expect(await fetchOne('GET', `/v3/users/${PHONE}/entitlements`)).toBe('200 {"object":"list","data":[]}')

  // The customer signs in here, and then on a second device, whose user is another one.
  expect(await fetchOne('GET', '/v3/identities/ada@example.com')).toBe(error(404, 'resource', 'not_found', 'Identity not found'))
  expect(await fetchOne('POST', '/v3/identities/ada@example.com', { user_id: PHONE })).toBe(
    `201 {"id":"ada@example.com","user_id":"${PHONE}"}`,
  )
  expect(await fetchOne('POST', `/v3/users/${TABLET}`, {}, TABLET)).toBe(`201 {"id":"${TABLET}","created":<now>,"environment":"sandbox"}`)
  expect(await fetchOne('GET', '/v3/identities/ada%40example.com', undefined, TABLET)).toBe(
    `200 {"id":"ada@example.com","user_id":"${PHONE}"}`,
  )
  expect(await fetchOne('POST', '/v3/identities/ada@example.com', { user_id: TABLET }, TABLET)).toBe(
    error(422, 'resource', 'already_exists', "identity already exists: it's linked to another user"),
  )
  expect(await fetchOne('POST', '/v3/identities/ada@example.com', { user_id: PHONE })).toBe(
    error(422, 'resource', 'already_exists', 'user already has identity'),
  )
  expect(await fetchOne('GET', `/v3/users/${PHONE}`, undefined, TABLET)).toBe(
    `200 {"id":"${PHONE}","identity_id":"ada@example.com","created":<now>,"environment":"sandbox"}`,
  )

  // A purchase, its restoration on the same user, and by the user of the second device.
  const purchased = Math.floor(Date.now() / 1000) - 3600
  const bought = {
    currency: 'eur',
    price: '9.99',
    purchased,
    app_store_data: { transaction_id: '2000000123456789', product_id: 'com.example.monthly', original_transaction_id: null },
  }
  const shown =
    `201 {"user_id":"${PHONE}","currency":"EUR","price":"9.99","purchased":${purchased - (purchased % 1000)},` +
    '"app_store_data":{"transaction_id":"2000000123456789","product_id":"com.example.monthly"}}'
  for (let i = 0; i < 2; i++) expect(await fetchOne('POST', `/v3/users/${PHONE}/purchases`, bought)).toBe(shown)
  expect(await fetchOne('POST', `/v3/users/${TABLET}/purchases`, bought, TABLET)).toBe(
    error(422, 'resource', 'already_exists', 'the transaction belongs to another user'),
  )
  expect(await fetchOne('GET', `/v3/users/${PHONE}/entitlements`)).toMatch(
    new RegExp(
      `^200 \\{"object":"list","data":\\[\\{"id":"premium","active":true,"started":${purchased},"expires":\\d{10},"source":"appstore",` +
        '"product":\\{"product_id":"monthly","subscription":\\{"renew_state":"will_renew","current_period_type":"normal"\\}\\}\\}\\]\\}$',
    ),
  )

  // What the app shows.
  const offer = `{"id":"${screen}","context_key":"offer","body":"<p>Hi</p>","variables":[]}`
  expect(await fetchOne('GET', '/v3/screens?preload=true')).toBe(`200 [${offer}]`)
  expect(await fetchOne('GET', '/v3/contexts/offer/screens')).toBe(`200 [${offer}]`)
  expect(await fetchOne('GET', `/v3/screens/${screen}`)).toBe(`200 ${offer}`)
  expect(await fetchOne('GET', '/v3/contexts//screens')).toBe(error(404, 'resource', 'not_found', 'Screen not found'))
  expect(await fetchOne('POST', `/v3/users/${PHONE}/screen-events`, { events: [{ type: 'screen_shown', screen_uid: screen }] })).toBe(
    '200 {}',
  )
  const source = (uid: string, name: string, how: string) =>
    `"source":{"uid":"${uid}","name":"${name}","assignment_type":"${how}","type":"remote_configuration","context_key":"home"}`
  const home = `{"payload":{"title":"Hi","image":null},${source(config, 'Home', 'auto')}}`
  expect(await fetchOne('GET', `/v3/remote-config?user_id=${PHONE}&context_key=home`)).toBe(`200 ${home}`)
  expect(await fetchOne('GET', `/v3/remote-configs?user_id=${PHONE}&all_context_keys=true`)).toBe(`200 [${home}]`)
  expect(await fetchOne('GET', `/v3/remote-config?user_id=${PHONE}`)).toBe('200 {"payload":{}}')
  expect(await fetchOne('POST', `/v3/remote-configurations/${pinned}/users/${PHONE}`)).toBe('200 {}')
  expect(await fetchOne('GET', `/v3/remote-config?user_id=${PHONE}&context_key=home`)).toBe(
    `200 {"payload":{"title":"You"},${source(pinned, 'You', 'manual')}}`,
  )
  expect(await fetchOne('GET', `/v3/users/${PHONE}/action-points?type=screen_view&active=1`)).toBe('200 {"data":{"items":[]}}')

  // The customer signs out: a new user on the same device, which has nothing of the former one.
  expect(await fetchOne('POST', `/v3/users/${LATER}`, { environment: 'sandbox' }, LATER)).toBe(
    `201 {"id":"${LATER}","created":<now>,"environment":"sandbox"}`,
  )
  expect(await fetchOne('GET', `/v3/users/${LATER}/properties`, undefined, LATER)).toBe('200 []')
  expect(await fetchOne('GET', `/v3/users/${LATER}/entitlements`, undefined, LATER)).toBe('200 {"object":"list","data":[]}')
  expect(await fetchOne('GET', `/v3/remote-config?user_id=${LATER}&context_key=home`, undefined, LATER)).toBe(`200 ${home}`)

  // Servers see the same user in v4, with what the device has told.
  const { body } = await api.call('GET', `/v4/customers/${PHONE}`, { key: sandbox })
  expect(body.data).toMatchObject({
    customer: { platform: 'iOS', country: 'DE', external_identity: 'ada@example.com' },
    device: { app_version: '2.1.4', os_version: '19.1', sdk_version: '6.1.0' },
  })
})
