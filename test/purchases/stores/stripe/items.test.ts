import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../harness/stores/stripe-story.ts'
import { HALF, MAX, PRO, SEATS, START, stripeStage } from './stage.ts'

const CHANGED = '2026-01-16T10:00:00Z'
const stage = stripeStage()
const { subscribed, lineages: known } = stage

test('several items: the first has the lineage of the subscription, the others have their own', async () => {
  subscribed({ items: [PRO, SEATS] }).renew()
  const [main, seats, ...others] = await known(START + 31 * DAY_MS)
  expect(others).toEqual([])
  expect(main).toMatchObject({
    lineage: 'sub_1',
    accountId: 'user-1',
    periods: [{ subject: 'in_sub_1_1', product: 'prod_pro' }, { price: '10' }],
  })
  expect(seats).toMatchObject({
    lineage: 'sub_1:si_2',
    accountId: 'user-1',
    periods: [
      { subject: 'in_sub_1_1:si_2', product: 'prod_seats', price: '6', isRenewal: false },
      { subject: 'in_sub_1_2:si_2', price: '6', isRenewal: true },
    ],
    renewal: { autoRenews: true, gaveUp: false },
  })
})

test('a replacement of the only item takes its lineage over', async () => {
  const one = subscribed()
  one.change(
    HALF,
    [{ ...MAX, id: 'si_9' }],
    [
      { ...one.rest(HALF), item: 'si_1', product: 'prod_pro', amount: -500, isProration: true },
      { ...one.rest(HALF), item: 'si_9', product: 'prod_max', amount: 1500, isProration: true },
    ],
  )
  one.renew()
  const [main, ...others] = await known(START + 31 * DAY_MS)
  expect(others).toEqual([])
  expect(main).toMatchObject({
    lineage: 'sub_1',
    periods: [
      { product: 'prod_pro', ends: CHANGED },
      { product: 'prod_max', level: { is: 'upgrade', refunded: '5' } },
      { isRenewal: true },
    ],
    renewal: { autoRenews: true },
  })
})

test('a replacement at the end of a period, without a credit', async () => {
  const one = subscribed()
  one.set({ items: { ...one.subscription().items, data: [] } })
  const rest = { begins: one.endsAt() / 1000, ends: one.endsAt() / 1000 + 86_400 }
  one.pay(one.endsAt(), one.invoice(one.endsAt(), 'subscription_cycle', [{ ...rest, item: 'si_9', product: 'prod_max', amount: 100 }]))
  const reports = await known(START + 31 * DAY_MS)
  expect(reports.map(({ lineage, periods }) => [lineage, periods.length])).toEqual([['sub_1', 2]])
})

test('an item that is added beside the first one has its own lineage, and keeps it when the first one is removed', async () => {
  const one = subscribed()
  one.change(HALF, [PRO, SEATS], [{ ...one.rest(HALF), item: 'si_2', product: 'prod_seats', amount: 300, isProration: true }])
  const lineages = async (at: number) =>
    (await known(at)).map(({ lineage, periods, renewal }) => [lineage, periods.length, renewal.autoRenews])
  expect(await lineages(HALF + HOUR_MS)).toEqual([
    ['sub_1', 1, true],
    ['sub_1:si_2', 1, true],
  ])
  one.change(HALF + DAY_MS, [SEATS], [{ ...one.rest(HALF + DAY_MS), item: 'si_1', product: 'prod_pro', amount: -400, isProration: true }])
  one.renew()
  expect(await lineages(START + 31 * DAY_MS)).toEqual([
    ['sub_1', 1, false],
    ['sub_1:si_2', 2, true],
  ])
})

test('a new item while several go on has its own lineage', async () => {
  const one = subscribed({ items: [PRO, SEATS] })
  one.change(
    HALF,
    [{ ...MAX, id: 'si_9' }, SEATS],
    [
      { ...one.rest(HALF), item: 'si_1', product: 'prod_pro', amount: -500, isProration: true },
      { ...one.rest(HALF), item: 'si_9', product: 'prod_max', amount: 1500, isProration: true },
    ],
  )
  expect((await known()).map(({ lineage }) => lineage)).toEqual(['sub_1', 'sub_1:si_2', 'sub_1:si_9'])
})
