import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { outgoing } from '../../../../workflows/outgoing/outgoing.ts'
import { googleCertificates } from '../../../../workflows/stores/google/certificates.ts'
import { type PlayServer, playServer, pushBody, rightClaims } from '../../../harness/stores/google.ts'
import { ADDRESS, type PlayFixture, playFixture } from '../../../harness/stores/google-fixture.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const out = outgoing({ allowPrivateNetwork: true })
const DOWN = { status: 503, body: 'down' } as const
let google: PlayServer
let nowMs = 0
beforeAll(async () => {
  google = await playServer()
})
afterAll(() => Promise.all([google.close(), out.close()]))
beforeEach(() => {
  google.certificates = null
  google.requests.length = 0
})

const certificates = () => googleCertificates(out, google.certsUrl, () => nowMs)
const requestCount = () => google.requests.length
const is = async (answer: Promise<{ is: string }>) => (await answer).is

test('they are kept for the time that Google states, and fetched once for all that wait', async () => {
  const certificatesFor = certificates()
  await Promise.all([certificatesFor('kid-0'), certificatesFor('kid-0'), certificatesFor('kid-0')])
  expect(requestCount()).toBe(1)
  nowMs += HOUR - 1
  expect(await is(certificatesFor('kid-0'))).toBe('certificates')
  expect(requestCount()).toBe(1)
  nowMs += 1
  await certificatesFor('kid-0')
  expect(requestCount()).toBe(2)
})

test('an unknown key asks once more, once a minute', async () => {
  const certificatesFor = certificates()
  await certificatesFor('kid-0')
  await certificatesFor('unknown-1')
  expect(requestCount()).toBe(2)
  nowMs += MINUTE - 1
  await certificatesFor('unknown-2')
  expect(requestCount()).toBe(2)
  nowMs += 1
  await certificatesFor('unknown-3')
  expect(requestCount()).toBe(3)
})

test('stale ones serve for a day, and Google is not asked by every notification meanwhile', async () => {
  const certificatesFor = certificates()
  await certificatesFor('kid-0')
  google.certificates = DOWN
  nowMs += 2 * HOUR
  expect(await is(certificatesFor('kid-0'))).toBe('certificates')
  expect(await is(certificatesFor('kid-0'))).toBe('certificates')
  expect(requestCount()).toBe(2)
  nowMs += 22 * HOUR
  expect(await is(certificatesFor('kid-0'))).toBe('certificates')
  nowMs += 1
  expect(await is(certificatesFor('kid-0'))).toBe('none')
  google.certificates = null
  nowMs += 5_000
  expect(await is(certificatesFor('kid-0'))).toBe('certificates')
})

test.each([
  DOWN,
  { status: 200, body: 'no JSON' },
  { status: 200, body: {} },
  { status: 200, body: { a: 'no certificate' } },
  'cut' as const,
])('never fetched: %j', async answer => {
  const certificatesFor = certificates()
  google.certificates = answer
  expect(await is(certificatesFor('kid-0'))).toBe('none')
})

const push = (fixture: PlayFixture, claims: object) =>
  fixture.play.verify(
    {
      body: pushBody({ eventTimeMillis: 1, testNotification: {} }, 'message-1'),
      headers: { authorization: `Bearer ${fixture.google.idToken({ ...claims })}` },
      address: ADDRESS,
      receivedAtMs: Date.now(),
    },
    fixture.settings,
  )

test('a rotated key is found, an unpublished one is not', async () => {
  const fixture = await playFixture()
  const claims = rightClaims(ADDRESS, Date.now())
  expect((await push(fixture, claims)).is).toBe('ignored')
  fixture.google.rotate()
  expect((await push(fixture, claims)).is).toBe('ignored')
  fixture.google.rotate(false)
  expect((await push(fixture, claims)).is).toBe('unauthorized')
  await fixture.close()
})

test('without certificates a push is to come again, and an outsider hears the same as ever', async () => {
  const fixture = await playFixture()
  fixture.google.certificates = DOWN
  expect(await push(fixture, rightClaims(ADDRESS, Date.now()))).toEqual({ is: 'unavailable', reason: 'certificates' })
  const outsider = { body: new Uint8Array(), headers: {}, address: ADDRESS, receivedAtMs: Date.now() }
  expect(await fixture.play.verify(outsider, fixture.settings)).toEqual({ is: 'unauthorized' })
  await fixture.close()
})
