import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AppleFixture, appleFixture, arrivalOf, NOW } from '../../../harness/stores/apple-fixture.ts'
import { signedPayloadOf } from '../../../harness/stores/apple-jws.ts'
import { appleSubscription, MONTH_MS } from '../../../harness/stores/apple-subscription.ts'
import { jsonOf } from '../../../harness/vendor.ts'

let fixture: AppleFixture
beforeAll(async () => {
  fixture = await appleFixture()
})
afterAll(() => fixture.close())

const RANGE = { fromMs: NOW - MONTH_MS, toMs: NOW, onlyFailures: false }

test('a sweep reads the notifications of a time page by page, and each is accepted as if it had been posted', async () => {
  const { server, store, chain, context, settings } = fixture
  const sent = Array.from({ length: 45 }, (_, i) => appleSubscription(chain).subscribe(NOW - 1000 * i))
  server.production.notifications = sent.map(({ body }, i) => ({ signedPayload: signedPayloadOf(body), isFailure: i % 10 === 0 }))

  const read = async (onlyFailures: boolean) => {
    const pages: Uint8Array[][] = []
    let token: string | null = null
    do {
      const answer = await store.notificationHistory({ ...RANGE, onlyFailures }, token, context)
      if (answer.is !== 'answer') throw new Error(answer.is)
      pages.push(answer.value.bodies)
      token = answer.value.next
    } while (token !== null)
    return pages
  }
  const pages = await read(false)
  expect(pages.map(({ length }) => length)).toEqual([20, 20, 5])
  expect(jsonOf(server.requests[0]!)).toEqual({ startDate: RANGE.fromMs, endDate: RANGE.toMs })
  const gates = await Promise.all(pages.flat().map(body => store.verify(arrivalOf(body), settings)))
  expect(gates.map(gate => (gate.is === 'accepted' ? gate.notification.id : gate.is))).toEqual(sent.map(({ id }) => id))
  expect((await read(true)).flat()).toHaveLength(5)
})

test('a page that Apple refuses', async () => {
  fixture.server.override = () => ({ status: 401 })
  expect(await fixture.store.notificationHistory(RANGE, null, fixture.context)).toEqual({ is: 'refused', why: 'http_401' })
  fixture.server.override = null
})

test('a test notification is asked for, and what became of it', async () => {
  const context = { ...fixture.context, environment: 'sandbox' } as const
  expect(await fixture.store.requestTest(context)).toEqual({ is: 'answer', value: 'sandbox_token' })
  expect(await fixture.store.testAttempts('sandbox_token', context)).toEqual({ is: 'answer', value: ['SUCCESS'] })
  expect(fixture.server.requests.at(-1)!.path).toBe('/sandbox/inApps/v1/notifications/test/sandbox_token')
})

test('a request for consumption information is answered with what the project wishes', async () => {
  const { server, store, chain, context } = fixture
  const subscription = appleSubscription(chain)
  subscription.subscribe(NOW)
  server.production.lineages.push(subscription.state)
  const consumption = { customerConsented: true, deliveryStatus: 'DELIVERED', sampleContentProvided: false }
  expect(await store.sendConsumption(subscription.lineage, 'decline', context)).toEqual({ is: 'answer', value: null })
  expect(jsonOf(server.requests.at(-1)!)).toEqual({ ...consumption, refundPreference: 'DECLINE' })
  expect(await store.sendConsumption(subscription.lineage, 'grant_full', context)).toEqual({ is: 'answer', value: null })
  expect(jsonOf(server.requests.at(-1)!)).toEqual({ ...consumption, refundPreference: 'GRANT_FULL' })
  expect(await store.sendConsumption('99', 'decline', context)).toMatchObject({ is: 'unknown' })
  expect(await store.sendConsumption('../99', 'decline', context)).toMatchObject({ is: 'unknown' })
})
