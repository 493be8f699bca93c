import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { openShop } from '../../harness/stores/sale.ts'
import { until } from '../../harness/until.ts'
import { jsonOf } from '../../harness/vendor.ts'

// Apple asks about the use of a purchase whose refund a customer wants. It is answered where the project wants that, and with the customer's consent.

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(async () => {
  await stores.begin()
  stores.apple.requests.length = 0
})

const answers = () => stores.apple.requests.filter(({ method }) => method === 'PUT')
const runs = async () =>
  (
    await stores.api.pool.query<{ status: string }>(`select status from runs where environment = $1 and workflow = 'store_consumption'`, [
      stores.project.production,
    ])
  ).rows.map(({ status }) => status)
const ended = () => until('the run has ended', async () => ((await runs()).every(status => status === 'succeeded') ? true : undefined))

const consents = (user: string, value: string) =>
  stores.good('POST', `/v4/users/${user}/properties`, { properties: [{ key: 'consumption_consent', value }] })

/** A subscription of a user. `send` brings Apple's request. */
async function insertSale(preference: string, consent: string | null) {
  await openShop(stores, 'apple')
  await stores.api.pool.query('update projects set refund_preference = $2 where id = $1', [stores.project.id, preference])
  const { id, account } = await stores.user()
  if (consent !== null) await consents(id, consent)
  const subscription = appleSubscription(stores.chain, { account })
  await stores.pushApple(subscription.subscribe(Date.now() - 3_600_000))
  const send = async (request = subscription.posted('CONSUMPTION_REQUEST', null, Date.now())) => {
    expect(await stores.pushApple(request)).toBe(200)
    await stores.settled()
    return request
  }
  return { id, subscription, send }
}

test.each([
  ['decline', 'DECLINE'],
  ['grant_full', 'GRANT_FULL'],
])('a project that prefers %s says so once, however often Apple asks', async (preference, word) => {
  const { subscription, send } = await insertSale(preference, 'true')
  const request = await send()
  await ended()
  await send(request)
  await send()
  await ended()
  expect(await runs()).toHaveLength(1)
  expect(answers()).toHaveLength(1)
  const [answer] = answers()
  expect(answer!.path).toBe(`/production/inApps/v2/transactions/consumption/${subscription.lineage}`)
  expect(jsonOf(answer!)).toMatchObject({ customerConsented: true, refundPreference: word })
  expect((await stores.events()).filter(name => name === 'refund_consumption')).toHaveLength(2)
})

test.each([
  ['decline', null],
  ['decline', 'false'],
  ['none', 'true'],
])('nothing is sent by a project that prefers %s, of a customer whose consent is %s', async (preference, consent) => {
  const { send } = await insertSale(preference, consent)
  await send()
  // A run would have been created with the record of the request.
  expect(await stores.events()).toContain('refund_consumption')
  expect(await runs()).toEqual([])
  expect(answers()).toEqual([])
})

const refuse = () => {
  stores.apple.override = ({ method }) => (method === 'PUT' ? { status: 503, body: {} } : null)
}
/** The run sleeps until the next attempt. */
const waits = () =>
  until('the run waits', async () => {
    const { rowCount } = await stores.api.pool.query(
      `select from runs r join steps s on s.run = r.id join due d on d.kind = r.job_kind and d.id = r.id
       where r.environment = $1 and r.workflow = 'store_consumption' and s.name = 'wait-1' and s.status = 'waiting' and d.lease_until is null`,
      [stores.project.production],
    )
    return rowCount === 1 || undefined
  })

test('after 503 it is sent again', async () => {
  const { send } = await insertSale('decline', 'true')
  refuse()
  await send()
  await waits()
  expect(answers()).toHaveLength(1)
  stores.apple.override = null
  await stores.hurry()
  await ended()
  expect(answers()).toHaveLength(2)
})

test('consent that is withdrawn meanwhile counts', async () => {
  const { id, send } = await insertSale('decline', 'true')
  refuse()
  await send()
  await waits()
  expect(answers()).toHaveLength(1)
  await consents(id, 'false')
  stores.apple.override = null
  await stores.hurry()
  await ended()
  expect(answers()).toHaveLength(1)
})
