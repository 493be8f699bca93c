import { describe, expect, test } from 'vitest'
import { eventDestinations } from '../../workflows/destinations/registry.ts'
import { bareOccurrence, occurrence } from '../harness/occurrence.ts'
import { vendors } from '../harness/vendors/all.ts'
import { DELIVERY, destinationBench } from './bench.ts'

test('every destination but the customer’s own server has a vendor to be tried on', () => {
  const others = [...eventDestinations.keys()].filter(slug => slug !== 'webhooks')
  expect(vendors.map(({ slug }) => slug).sort()).toEqual(others.sort())
})

const negative = { price: '-9.99', currency: 'EUR', proceeds: '-8.49', price_usd: null, proceeds_usd: null }
const ANDROID = '38400000-8cf0-11bd-b23e-10b96e40000d'
const bare = () => {
  const event = bareOccurrence()
  return { ...event, device: { ...event.device, advertiser_id: ANDROID } }
}
const HOSTILE = `"'<!channel>&\n\u2028;😀`.repeat(900)

describe.each(vendors)('$slug', vendor => {
  const bench = destinationBench(vendor)

  const accepted = async (sending: Promise<unknown>) => {
    expect([await sending, bench.vendor.faults]).toMatchObject([{ outcome: 'delivered', error: null }, []])
    return bench.vendor.seen.at(-1)!
  }

  test('takes an event with value, user and properties in its documented shape', async () => {
    const seen = await accepted(bench.send(occurrence()))
    expect(vendor.revenue(seen)).toEqual({ amount: 9.99, currency: 'EUR' })
    expect(vendor.who(seen)).toBeTruthy()
  })

  test('takes an event without value of which nothing is known but its user and device', async () => {
    expect(vendor.revenue(await accepted(bench.send(bare())))).toBeNull()
  })

  test('is told the proceeds where the integration asks for them, and the price where they are not known', async () => {
    const proceeds = await accepted(bench.send(occurrence({ revenue: 'proceeds' })))
    expect(vendor.revenue(proceeds)).toEqual({ amount: 8.49, currency: 'EUR' })
    const money = { ...occurrence().money!, proceeds: null }
    const price = await accepted(bench.send(occurrence({ revenue: 'proceeds', money })))
    expect(vendor.revenue(price)).toEqual({ amount: 9.99, currency: 'EUR' })
  })

  test('is told a refund as a negative amount, or none where it takes no such', async () => {
    const refund = await accepted(
      bench.send(occurrence({ name: 'subscription_refunded', outgoing_name: 'subscription_refunded', money: negative })),
    )
    expect(vendor.revenue(refund)).toEqual(vendor.noRefunds ? null : { amount: -9.99, currency: 'EUR' })
  })

  test('gets the same request at every attempt, and another delivery under another key', async () => {
    bench.vendor.mood = 'down'
    await bench.send(occurrence())
    bench.vendor.mood = 'well'
    await accepted(bench.send(occurrence()))
    const [first, second] = bench.vendor.seen as [never, never]
    expect({ ...(second as object), headers: null }).toEqual({ ...(first as object), headers: null })
    if (!vendor.dedup) return
    expect(String(vendor.dedup(first)).length).toBeGreaterThan(10)
    const other = await accepted(bench.send(occurrence(), {}, `${DELIVERY.slice(0, -1)}z`))
    expect(vendor.dedup(other)).not.toBe(vendor.dedup(first))
  })

  test('keeps its shape whatever the caller named and wrote', async () => {
    const seen = await accepted(
      bench.send(
        occurrence({
          name: 'subscription_billing_retry_entered',
          outgoing_name: vendor.slug === 'adjust' ? 'abc123' : 'subscription_billing_retry_entered',
          properties: { note: HOSTILE, price: 'stolen', time: 'soon', $insert_id: 'x', event_name: 'other', nothing: '' },
          user: { ...occurrence().user!, properties: { ...occurrence().user!.properties, note: HOSTILE.slice(0, 1000) } },
        }),
      ),
    )
    expect(vendor.revenue(seen)).toEqual({ amount: 9.99, currency: 'EUR' })
  })

  test('an event of nobody is sent in the documented shape or refused unsent', async () => {
    const sent = await bench.send(bareOccurrence({ user: null, platform: null }))
    expect(bench.vendor.faults).toEqual([])
    if (sent.outcome === 'delivered') return
    expect(sent).toMatchObject({ outcome: 'reject', httpStatus: null, error: expect.stringMatching(/^no_/) })
    expect(bench.vendor.seen).toEqual([])
  })

  // Some vendors take any key: nothing can be told of theirs.
  if (vendor.wrongKey)
    test('a wrong key is tried again: it will be mended', async () => {
      const sent = await bench.send(occurrence(), vendor.wrongKey!)
      expect([sent.outcome, sent.httpStatus, bench.vendor.faults]).toEqual(['retry', vendor.unauthorized.status, []])
      expect(sent.error).toBeTruthy()
    })

  test('a reached limit is tried again after the wait it names', async () => {
    bench.vendor.mood = 'limited'
    expect(await bench.send(occurrence())).toMatchObject({ outcome: 'retry', httpStatus: vendor.limited.status, retryAfterSeconds: 30 })
  })

  test('an outage is tried again', async () => {
    bench.vendor.mood = 'down'
    expect(await bench.send(occurrence())).toMatchObject({
      outcome: 'retry',
      httpStatus: 500,
      error: 'http_500',
      response: 'Internal Server Error',
    })
  })

  test('silence is tried again', async () => {
    bench.vendor.mood = 'hanging'
    expect(await bench.send(occurrence())).toMatchObject({ outcome: 'retry', httpStatus: null, error: 'timeout', response: null })
  })

  test('what it refuses it will refuse again, whatever status it says that with', async () => {
    bench.vendor.mood = 'refusing'
    const sent = await bench.send(occurrence())
    expect(sent).toMatchObject({ outcome: 'reject', httpStatus: vendor.refused.status, error: expect.stringMatching(/.+/) })
    const { body } = vendor.refused
    expect(sent.response).toBe(typeof body === 'string' ? body : JSON.stringify(body))
  })
})
