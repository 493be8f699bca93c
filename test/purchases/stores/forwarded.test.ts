import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Receiver, receiver } from '../../harness/receiver.ts'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { playStory } from '../../harness/stores/google-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import { until } from '../../harness/until.ts'

// From the request of a store to the server of the project.

const HOUR = 3_600_000
let stores: ReachedStores
let proxy: Receiver
beforeAll(async () => {
  stores = await startStores()
})
afterAll(() => stores.stop())
beforeEach(async () => {
  await stores.begin()
  proxy = await receiver()
  // Over HTTP the address must be https.
  await stores.api.pool.query('update projects set proxy_url = $2, rtdn_proxy_url = $3 where id = $1', [
    stores.project.id,
    `${proxy.url}/apple`,
    `${proxy.url}/google`,
  ])
  return () => proxy.close()
})

const heard = (count: number) => until('the push is forwarded', () => proxy.received.length >= count || undefined)

test('a push of Apple, repeated while the receiver fails, arrives once, as the bytes that Apple has sent', async () => {
  await stores.connectApple({ isConnected: false })
  const pushed = appleSubscription(stores.chain).subscribe(Date.now() - HOUR)
  proxy.script = [{ status: 503 }]
  expect([await stores.pushApple(pushed), await stores.pushApple(pushed)]).toEqual([200, 200])
  await heard(1)
  await stores.settled()
  await stores.hurry()
  await heard(2)
  const [first, second] = proxy.received
  expect([first!.path, first!.text]).toEqual(['/hook/apple', Buffer.from(pushed.body).toString()])
  expect([second!.path, second!.text, second!.headers['webhook-id']]).toEqual([first!.path, first!.text, first!.headers['webhook-id']])
  expect(await stores.pushApple(pushed)).toBe(200)
  await stores.hurry()
  await stores.settled()
  expect(proxy.received).toHaveLength(2)
})

test('a push of Google arrives without the token that authorizes it here', async () => {
  await stores.connectGoogle()
  const { body, id } = playStory(stores.google, { token: 'forwarded' }).subscribe(Date.now() - HOUR)
  expect(await stores.pushGoogle(body)).toBe(200)
  await heard(1)
  const [{ path, text, headers }] = proxy.received as [Receiver['received'][number]]
  expect([path, text, headers['webhook-id']]).toEqual(['/hook/google', Buffer.from(body).toString(), `google:${id}`])
  expect(headers).not.toHaveProperty('authorization')
})
