import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { googleTokens, serviceAccount } from '../../workflows/outgoing/google-token.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { googleAccount, googleTokenEndpoint } from '../harness/google.ts'
import { type Vendor, type VendorReply, vendor } from '../harness/vendor.ts'

const out = outgoing({ allowPrivateNetwork: true })
let google: Vendor
let reply: VendorReply | undefined
const holder = googleAccount(() => `${google.url}/token`)
const endpoint = googleTokenEndpoint(holder.publicKey, () => `${google.url}/token`, 'read')
beforeAll(async () => {
  google = await vendor(request => reply ?? endpoint.answer(request))
})
afterAll(() => Promise.all([google.close(), out.close()]))
beforeEach(() => {
  reply = undefined
  google.requests.length = 0
})

const signal = new AbortController().signal
const account = () => serviceAccount(holder.json())!

test('a token is kept until a minute before its end', async () => {
  let now = Date.now()
  const tokens = googleTokens(out, () => now)
  const first = await tokens.tokenFor(account(), 'read', signal)
  expect(first.is).toBe('token')
  now += (3599 - 60) * 1000 - 1
  expect(await tokens.tokenFor(account(), 'read', signal)).toEqual(first)
  now += 2
  // Of Google's own clock it is too early for that assertion.
  expect(await tokens.tokenFor(account(), 'read', signal)).toMatchObject({ is: 'none', response: { status: 400 } })
  expect(google.requests).toHaveLength(2)
})

test('what is kept is of one key and one scope', async () => {
  const tokens = googleTokens(out)
  await tokens.tokenFor(account(), 'read', signal)
  expect((await tokens.tokenFor(account(), 'write', signal)).is).toBe('none')
  const other = serviceAccount(googleAccount(() => `${google.url}/token`).json())!
  expect((await tokens.tokenFor(other, 'read', signal)).is).toBe('none')
  expect(google.requests).toHaveLength(3)
})

test('what was refused is asked for anew', async () => {
  const tokens = googleTokens(out)
  const first = await tokens.tokenFor(account(), 'read', signal)
  if (first.is === 'token') tokens.forget(first.token)
  const second = await tokens.tokenFor(account(), 'read', signal)
  expect([second.is, JSON.stringify(second) === JSON.stringify(first)]).toEqual(['token', false])
  expect(google.requests).toHaveLength(2)
})

test.each<VendorReply>([
  { status: 500, body: 'oops' },
  { status: 200, body: 'no JSON' },
  { status: 200, body: { expires_in: 3599 } },
  'cut',
])('an answer that brings no token, %j, is not kept', async bad => {
  const tokens = googleTokens(out)
  reply = bad
  expect((await tokens.tokenFor(account(), 'read', signal)).is).toBe('none')
  reply = undefined
  expect((await tokens.tokenFor(account(), 'read', signal)).is).toBe('token')
})

test('a token that is said to end at once is not kept', async () => {
  const tokens = googleTokens(out)
  reply = { status: 200, body: { access_token: 'short', expires_in: 30 } }
  expect(await tokens.tokenFor(account(), 'read', signal)).toEqual({ is: 'token', token: 'short' })
  reply = undefined
  expect(await tokens.tokenFor(account(), 'read', signal)).not.toEqual({ is: 'token', token: 'short' })
})

test.each([
  '',
  '{}',
  'null',
  '[]',
  JSON.stringify({ client_email: 1, private_key: 'x' }),
  JSON.stringify({ client_email: 'a', private_key: 'x' }),
])('%j is no service account', text => expect(serviceAccount(text)).toBeNull())
