import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../harness/stores/stripe-story.ts'
import { HALF, MAX, PRO, SEATS, START, stripeStage } from './stage.ts'

const [BEGIN, CHANGED, END, NEXT] = ['2026-01-01T10:00:00Z', '2026-01-16T10:00:00Z', '2026-01-31T10:00:00Z', '2026-03-02T10:00:00Z']
const stage = stripeStage()
const { subscribed, lineages: known } = stage

test('an upgrade that is charged at once begins a period and ends the old one; what is credited for that is stated', async () => {
  const one = subscribed()
  one.change(
    HALF,
    [MAX],
    [
      { ...one.rest(HALF), item: 'si_1', product: 'prod_pro', amount: -500, isProration: true },
      { ...one.rest(HALF), item: 'si_1', product: 'prod_max', amount: 1500, isProration: true },
    ],
  )
  const [main, ...others] = await known()
  expect(others).toEqual([])
  expect(main!.periods).toMatchObject([
    { subject: 'in_sub_1_1', product: 'prod_pro', price: '10', begins: BEGIN, ends: CHANGED, plan: { price: '10', days: 30 } },
    {
      subject: 'in_sub_1_2',
      product: 'prod_max',
      price: '15',
      begins: CHANGED,
      ends: END,
      isRenewal: false,
      level: { is: 'upgrade', refunded: '5' },
      plan: { price: '30', days: 30 },
    },
  ])
  expect(main!.periods[0]).not.toHaveProperty('level')
  // One subscription of Stripe is one lineage, so nothing in it is bought anew.
  for (const period of main!.periods) expect(period).not.toHaveProperty('isNewBuy')
})

test('a change that is charged with the next renewal: the invoice has two periods', async () => {
  const one = subscribed()
  const rest = one.rest(HALF)
  one.draft()
  const invoice = one.latest()
  const [line] = invoice.lines.data
  const parent = (isProration: boolean) => ({
    ...line!.parent!,
    subscription_item_details: { ...line!.parent!.subscription_item_details!, proration: isProration },
  })
  const price = (product: string) => ({ type: 'price_details', price_details: { price: 'price', product } })
  const proration = { period: { start: rest.begins, end: rest.ends }, parent: parent(true) }
  one.setInvoice(invoice, {
    lines: {
      ...invoice.lines,
      data: [
        { ...line!, ...proration, id: 'il_1', amount: -500, pricing: price('prod_pro') },
        { ...line!, ...proration, id: 'il_2', amount: 1500, pricing: price('prod_max') },
        { ...line!, id: 'il_3', amount: 3000, pricing: price('prod_max') },
      ],
    },
  })
  one.pay(START + 30 * DAY_MS + HOUR_MS)
  const [main] = await known(START + 31 * DAY_MS)
  expect(main!.periods).toMatchObject([
    { subject: 'in_sub_1_1', product: 'prod_pro', ends: CHANGED },
    { subject: `in_sub_1_2:${HALF / 1000}`, product: 'prod_max', price: '15', begins: CHANGED, ends: END, isRenewal: false },
    { subject: 'in_sub_1_2', product: 'prod_max', price: '30', begins: END, ends: NEXT, isRenewal: true },
  ])
  expect(main!.periods.map(({ level }) => level)).toEqual([undefined, { is: 'upgrade', refunded: '5' }, undefined])
})

test('a change that only gives back is no period: the old one ends with it', async () => {
  const one = subscribed({ items: [PRO, SEATS] })
  one.change(HALF, [PRO], [{ ...one.rest(HALF), item: 'si_2', product: 'prod_seats', amount: -300, isProration: true }])
  const [main, seats] = await known()
  expect(main!.periods).toMatchObject([{ ends: END }])
  expect(seats).toMatchObject({ periods: [{ subject: 'in_sub_1_1:si_2', ends: CHANGED }], renewal: { autoRenews: false, gaveUp: false } })
})

test('a change to a lower price per day is no upgrade, whatever is charged', async () => {
  const one = subscribed()
  const yearly = { begins: HALF / 1000, ends: HALF / 1000 + 365 * 86_400 }
  one.change(
    HALF,
    [{ ...PRO, product: 'prod_year', amount: 10_000 }],
    [
      { ...one.rest(HALF), item: 'si_1', product: 'prod_pro', amount: -500, isProration: true },
      { ...yearly, item: 'si_1', product: 'prod_year', amount: 10_000 },
    ],
  )
  const [main] = await known()
  expect(main!.periods).toMatchObject([
    { ends: CHANGED },
    { product: 'prod_year', price: '100', begins: CHANGED, ends: '2027-01-16T10:00:00Z' },
  ])
  expect(main!.periods[1]).not.toHaveProperty('level')
})

test('more of the same product is no upgrade', async () => {
  const one = subscribed()
  one.change(
    HALF,
    [{ ...PRO, quantity: 3 }],
    [
      { ...one.rest(HALF), item: 'si_1', product: 'prod_pro', amount: -500, isProration: true },
      { ...one.rest(HALF), item: 'si_1', product: 'prod_pro', amount: 1500, isProration: true },
    ],
  )
  const [main] = await known()
  expect(main!.periods).toMatchObject([{ ends: CHANGED }, { price: '15', begins: CHANGED, ends: END }])
  expect(main!.periods[1]).not.toHaveProperty('level')
})

test('a renewal with a dearer product is an upgrade for which nothing was given back', async () => {
  const one = subscribed()
  one.draft()
  const invoice = one.latest()
  const [line] = invoice.lines.data
  const pricing = { type: 'price_details', price_details: { price: 'price', product: 'prod_max' } }
  one.setInvoice(invoice, { lines: { ...invoice.lines, data: [{ ...line!, amount: 3000, pricing }] } })
  one.pay(START + 31 * DAY_MS)
  const [main] = await known(START + 31 * DAY_MS)
  expect(main!.periods[1]).toMatchObject({ product: 'prod_max', isRenewal: true, level: { is: 'upgrade', refunded: '0' } })
})

test('a change that is charged as an item of the invoice is that of the item with its product', async () => {
  const one = subscribed()
  one.change(
    HALF,
    [MAX],
    [
      { ...one.rest(HALF), product: 'prod_pro', amount: -500, isProration: true, isAdded: true },
      { ...one.rest(HALF), product: 'prod_max', amount: 1500, isProration: true, isAdded: true },
    ],
  )
  const [main] = await known()
  expect(main!.periods).toMatchObject([
    { ends: CHANGED, credits: [{ at: CHANGED, amount: '5', isOfUpgrade: true }] },
    { product: 'prod_max', price: '15', begins: CHANGED, level: { is: 'upgrade', refunded: '5' }, credits: [] },
  ])
})

test('what the app has added to an invoice is no period', async () => {
  const one = subscribed()
  const invoice = one.invoice(HALF, 'manual', [{ ...one.rest(HALF), product: 'prod_setup', amount: 5000, isAdded: true }])
  one.pay(HALF, invoice)
  const [main, ...others] = await known()
  expect(others).toEqual([])
  expect(main!.periods).toHaveLength(1)
})
