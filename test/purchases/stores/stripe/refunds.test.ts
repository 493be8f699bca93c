import { expect, test } from 'vitest'
import { periodsOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { DAY_MS, type StoryOptions, stripeStory } from '../../../harness/stores/stripe-story.ts'
import { START, stripeStage } from './stage.ts'

const stage = stripeStage(40 * DAY_MS)

function subscribed(options: StoryOptions = {}) {
  const one = stripeStory(stage.fixture.server, options)
  one.subscribe(START)
  return one
}
/** The refunds of all periods, by lineage. */
const refunds = async () =>
  reportsOf(await stage.fixture.store.refresh('sub_1', stage.fixture.context)).map(({ statements }) =>
    periodsOf(statements).map(({ refund }) => refund),
  )
const at = (day: number) => new Date(START + day * DAY_MS).toISOString().replace('.000', '')
/** What went back, by day; `amount` null: all. */
const back = (amount: string | null, ...parts: [day: number, amount: string][]) => ({
  at: at(parts.at(-1)![0]),
  amount,
  parts: parts.map(([day, part]) => ({ at: at(day), amount: part })),
})

test('in parts, then all, then one is not taken by the bank', async () => {
  const one = subscribed()
  one.renew()
  one.refund(START + 31 * DAY_MS, 400)
  expect(await refunds()).toEqual([[null, back('4', [31, '4'])]])
  one.refund(START + 32 * DAY_MS, 600)
  expect(await refunds()).toEqual([[null, back(null, [31, '4'], [32, '6'])]])
  one.refundFails(START + 33 * DAY_MS)
  expect(await refunds()).toEqual([[null, back('4', [31, '4'])]])
})

test('of an earlier period', async () => {
  const one = subscribed()
  const first = one.latest().id
  one.renew()
  one.refund(START + 31 * DAY_MS, null, first)
  expect(await refunds()).toEqual([[back(null, [31, '10']), null]])
})

test.each(['failed', 'canceled', 'requires_action'])('%s: nothing went back', async status => {
  const one = subscribed()
  one.refund(START + DAY_MS)
  const [refund] = stage.fixture.server.refunds.values()
  stage.fixture.server.refunds.set(refund!.id, { ...refund!, status })
  expect(await refunds()).toEqual([[null]])
})

test('more refunds than Stripe shows with the charge', async () => {
  const one = subscribed()
  stage.fixture.server.innerSize = 2
  stage.fixture.server.pageSize = 2
  for (let n = 0; n < 7; n++) one.refund(START + (n + 1) * DAY_MS, 100)
  expect(await refunds()).toEqual([[back('7', ...Array.from({ length: 7 }, (_, n): [number, string] => [n + 1, '1']))]])
})

test.each([
  'warning_needs_response',
  'needs_response',
  'under_review',
  'won',
  'warning_closed',
  'prevented',
] as const)('a dispute that is %s: nothing went back', async status => {
  subscribed().dispute(START + DAY_MS, status)
  expect(await refunds()).toEqual([[null]])
})

test('a lost dispute is a refund; after a refund no more than the charge went back', async () => {
  const one = subscribed()
  one.dispute(START + 2 * DAY_MS, 'lost')
  expect(await refunds()).toEqual([[back(null, [2, '10'])]])
  one.refund(START + DAY_MS, 300)
  expect(await refunds()).toEqual([[back(null, [1, '3'], [2, '7'])]])
})

test('of several items: by their prices, and the parts are the whole', async () => {
  const items = [333, 333, 334].map((amount, n) => ({ id: `si_${n}`, product: `prod_${n}`, amount }))
  const one = subscribed({ items })
  one.refund(START + DAY_MS, 500)
  expect(await refunds()).toEqual([[back('1.66', [1, '1.66'])], [back('1.66', [1, '1.66'])], [back('1.68', [1, '1.68'])]])
  one.refund(START + 2 * DAY_MS, 500)
  expect(await refunds()).toEqual([
    [back(null, [1, '1.66'], [2, '1.67'])],
    [back(null, [1, '1.66'], [2, '1.67'])],
    [back(null, [1, '1.68'], [2, '1.66'])],
  ])
})

test('what the app has added to the invoice takes its part', async () => {
  const one = subscribed()
  const invoice = one.latest()
  const [line] = invoice.lines.data
  const parent = { type: 'invoice_item_details', invoice_item_details: { invoice_item: 'ii_1', proration: false, subscription: 'sub_1' } }
  one.setInvoice(invoice, { lines: { ...invoice.lines, data: [line!, { ...line!, id: 'il_2', amount: 3000, parent }] } })
  one.refund(START + DAY_MS, 800)
  expect(await refunds()).toEqual([[back('2', [1, '2'])]])
})

test('charges of the customer for something else are none of the subscription', async () => {
  const one = subscribed()
  const charge = [...stage.fixture.server.charges.values()][0]!
  stage.fixture.server.charges.set('ch_other', {
    ...charge,
    id: 'ch_other',
    payment_intent: 'pi_other',
    amount_refunded: 500,
    disputed: true,
  })
  expect(await refunds()).toEqual([[null]])
  expect(stage.fixture.server.calls()).not.toContain('refunds')
  expect(stage.fixture.server.calls()).not.toContain('disputes')
  // A payment that failed before the one that succeeded.
  stage.fixture.server.charges.set('ch_failed', { ...charge, id: 'ch_failed', status: 'failed' })
  one.refund(START + DAY_MS)
  expect(await refunds()).toEqual([[back(null, [1, '10'])]])
})

test('an invoice that was paid without a charge has nothing that could go back', async () => {
  subscribed()
  stage.fixture.server.invoicePayments.clear()
  expect(await refunds()).toEqual([[null]])
})

test('a charge that is older than what is read of the customer says nothing', async () => {
  const one = subscribed()
  one.refund(START + DAY_MS)
  stage.fixture.server.pageSize = 1
  const charge = [...stage.fixture.server.charges.values()][0]!
  for (let n = 0; n < 20; n++)
    stage.fixture.server.charges.set(`ch_${n}`, { ...charge, id: `ch_${n}`, payment_intent: `pi_${n}`, amount_refunded: 0 })
  expect(await refunds()).toEqual([[undefined]])
})
