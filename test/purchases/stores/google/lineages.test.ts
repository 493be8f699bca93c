import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { StoreReport } from '../../../../domain/purchases/store-facts/statement.ts'
import { type PlayFixture, periodsOf, playFixture, renewalOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { playStory } from '../../../harness/stores/google-story.ts'

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
let fixture: PlayFixture
beforeAll(async () => {
  fixture = await playFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.google.orders.clear()
  fixture.google.subscriptions.clear()
  fixture.google.gone.clear()
})

const reports = async (token: string) => reportsOf(await fixture.play.refresh(token, fixture.context))
const by = (found: StoreReport[], lineage: string) => found.find(report => report.lineage === lineage)!
const EUR = (units: string) => ({ currencyCode: 'EUR', units })

type Replacement = { price?: string; product?: string; mode?: string; at?: number }

/** An old subscription that another one replaces on the 16th day. */
function replaced({ price = '20', product = 'max', mode = 'CHARGE_FULL_PRICE', at = START + 15 * DAY }: Replacement = {}) {
  const old = playStory(fixture.google, { token: 'old', order: 'GPA.1', product: 'pro', price: '10', accountId: 'user-1' })
  old.subscribe(START)
  const young = playStory(fixture.google, { token: 'young', order: 'GPA.2', product, basePlan: 'plan-2', price, linkedToken: 'old' })
  young.subscribe(at)
  young.answer().lineItems![0]!.itemReplacement = { productId: 'pro', basePlanId: 'monthly', replacementMode: mode }
  Object.assign(old.answer(), {
    subscriptionState: 'SUBSCRIPTION_STATE_EXPIRED',
    canceledStateContext: { replacementCancellation: {} },
  })
  Object.assign(old.answer().lineItems![0]!, { expiryTime: new Date(at).toISOString(), autoRenewingPlan: {} })
  return { old, young }
}

test('a purchase that replaces another one is the same lineage, with the whole history', async () => {
  replaced()
  const [report, ...others] = await reports('young')
  expect(others).toEqual([])
  expect(report).toMatchObject({ lineage: 'old', aliases: ['young'], accountId: 'user-1' })
  expect(periodsOf(report!.statements)).toMatchObject([
    { subject: 'GPA.1', product: 'pro', ends: '2026-01-16T10:00:00Z' },
    { subject: 'GPA.2', product: 'max', begins: '2026-01-16T10:00:00Z', level: { is: 'upgrade', refunded: null } },
  ])
  expect(renewalOf(report!.statements)).toMatchObject({ autoRenews: true, gaveUp: false })
})

test('the replaced one says nothing of whether the lineage goes on, and its end is not newer than the replacement', async () => {
  replaced()
  const [report] = await reports('old')
  expect(report!.statements.filter(({ kind }) => kind === 'renewal')).toEqual([
    {
      kind: 'renewal',
      origin: 'api',
      statedAt: START + 15 * DAY,
      subject: '',
      token: 'old',
      reported: { isReplaced: true, autoRenews: true, gaveUp: false },
    },
  ])
  expect(report!.isWhole).toBe(false)
  const ends = report!.statements.filter(statement => statement.kind === 'period' && statement.reported.ends === '2026-01-16T10:00:00Z')
  expect(ends.map(({ statedAt }) => statedAt)).toEqual([START + 15 * DAY])
})

test.each([
  ['a higher price per day', { price: '20' }, { is: 'upgrade', refunded: null }],
  ['a lower price per day', { price: '5' }, { is: 'downgrade' }],
  ['the same price per day', { price: '10' }, undefined],
  ['another base plan of the same product', { product: 'pro', price: '5' }, { is: 'downgrade' }],
  [
    'a prorated charge, which Google allows for upgrades only',
    { price: '2', mode: 'CHARGE_PRORATED_PRICE' },
    { is: 'upgrade', refunded: null },
  ],
  ['a free first period', { price: '0' }, undefined],
])('level: %s', async (_, options, level) => {
  replaced(options)
  const periods = periodsOf((await reports('young'))[0]!.statements)
  expect(periods.find(({ subject }) => subject === 'GPA.2')!.level).toEqual(level)
})

test('no level without the word of the store, and none at renewals', async () => {
  const { young } = replaced()
  young.renew()
  const renewed = periodsOf((await reports('young'))[0]!.statements)
  expect(renewed.find(({ subject }) => subject === 'GPA.2..0')).not.toHaveProperty('level')
  delete young.answer().lineItems![0]!.itemReplacement
  const periods = periodsOf((await reports('young'))[0]!.statements)
  expect(periods.filter(({ level }) => level !== undefined)).toEqual([])
})

test('a deferred change: the next product, and no purchase of it yet', async () => {
  const { subscribe, answer } = playStory(fixture.google, { token: 'deferred' })
  subscribe(START)
  answer().lineItems![0]!.deferredItemReplacement = { productId: 'basic' }
  answer().lineItems!.push({ productId: 'basic', offerDetails: { basePlanId: 'monthly' } })
  const [report, ...others] = await reports('deferred')
  expect(others).toEqual([])
  expect(periodsOf(report!.statements).map(({ product }) => product)).toEqual(['pro'])
  expect(renewalOf(report!.statements)).toMatchObject({ autoRenews: true, nextProduct: 'basic' })
})

test('a deferred change that has happened stays in the lineage of the token', async () => {
  const { subscribe, renew, answer, latestOrder } = playStory(fixture.google, { token: 'changed' })
  subscribe(START)
  renew()
  fixture.google.orders.get(latestOrder())!.lineItems![0]!.productId = 'basic'
  answer().lineItems![0]!.productId = 'basic'
  const found = await reports('changed')
  expect(found.map(({ lineage }) => lineage)).toEqual(['changed'])
  expect(periodsOf(found[0]!.statements).map(({ product }) => product)).toEqual(['pro', 'basic'])
})

test('an older purchase that Google has forgotten is still a name of the lineage', async () => {
  replaced()
  fixture.google.gone.add('old')
  const [report] = await reports('young')
  expect(report).toMatchObject({ lineage: 'old', aliases: ['young'] })
  expect(periodsOf(report!.statements).map(({ subject }) => subject)).toEqual(['GPA.2'])
})

test('a resubscription outside the app continues the lineage of the expired purchase, and has its account', async () => {
  const old = playStory(fixture.google, { token: 'expired', order: 'GPA.1', accountId: 'user-1' })
  old.subscribe(START)
  old.cancel(START + DAY)
  old.expire()
  const young = playStory(fixture.google, { token: 'again', order: 'GPA.2' })
  young.subscribe(START + 50 * DAY)
  young.answer().outOfAppPurchaseContext = {
    expiredPurchaseToken: 'expired',
    expiredExternalAccountIdentifiers: { obfuscatedExternalAccountId: 'user-1' },
  }
  const [report] = await reports('again')
  expect(report).toMatchObject({ lineage: 'expired', aliases: ['again'], accountId: 'user-1' })
  expect(periodsOf(report!.statements).map(({ subject }) => subject)).toEqual(['GPA.1', 'GPA.2'])
  expect(renewalOf(report!.statements)).toMatchObject({ autoRenews: true, gaveUp: false })
})

test('purchases that name each other end', async () => {
  for (const [token, linkedToken] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const)
    playStory(fixture.google, { token, order: `GPA.${token}`, linkedToken }).subscribe(START)
  expect((await reports('a')).map(({ lineage, aliases }) => [lineage, aliases])).toEqual([['b', ['a']]])
})

/** A second line in the subscription and in its orders. */
function withAddOn(token: string, product = 'extra') {
  const created = playStory(fixture.google, { token, order: 'GPA.9', price: '10' })
  created.subscribe(START)
  const add = () => {
    const order = fixture.google.orders.get(created.latestOrder())!
    order.lineItems = [order.lineItems![0]!, { ...order.lineItems![0]!, productId: product, total: EUR('3') }]
    order.total = EUR('13')
  }
  add()
  created.answer().lineItems!.push({ ...created.answer().lineItems![0]!, productId: product })
  return { ...created, add }
}

test('an add-on is a lineage of its own, with transactions of its own', async () => {
  withAddOn('with-extra')
  const found = await reports('with-extra')
  expect(found.map(({ lineage }) => lineage)).toEqual(['with-extra', 'with-extra:extra'])
  expect(periodsOf(by(found, 'with-extra').statements)).toMatchObject([{ subject: 'GPA.9', product: 'pro', price: '10' }])
  expect(periodsOf(by(found, 'with-extra:extra').statements)).toMatchObject([{ subject: 'GPA.9:extra', product: 'extra', price: '3' }])
  const ids = by(found, 'with-extra:extra').statements.flatMap(statement => (statement.kind === 'period' ? [statement.ids] : []))
  for (const one of ids) expect(one).toMatchObject({ token: 'with-extra', order: 'GPA.9', transaction: 'GPA.9:extra' })
})

test('an add-on that is to be removed is off, the subscription is not', async () => {
  const { answer } = withAddOn('removing')
  answer().lineItems![1]!.deferredItemRemoval = {}
  const found = await reports('removing')
  expect(renewalOf(by(found, 'removing:extra').statements).autoRenews).toBe(false)
  expect(renewalOf(by(found, 'removing').statements).autoRenews).toBe(true)
})

test('what was charged keeps its lineage when the order of the lines changes, or the subscription itself is removed', async () => {
  const { answer } = withAddOn('shuffled')
  const shape = async () =>
    (await reports('shuffled')).map(({ lineage, statements }) => [lineage, periodsOf(statements).map(({ subject }) => subject)]).toSorted()
  const before = await shape()
  answer().lineItems!.reverse()
  expect(await shape()).toEqual(before)
  answer().lineItems = answer().lineItems!.filter(({ productId }) => productId === 'extra')
  expect(await shape()).toEqual(before)
})

test('the queue of an add-on asks for its token', async () => {
  withAddOn('asked')
  expect((await reports('asked:extra')).map(({ lineage }) => lineage)).toEqual(['asked', 'asked:extra'])
})

test('add-ons have the names of their subscription', async () => {
  withAddOn('second').answer().linkedPurchaseToken = 'first'
  const found = await reports('second')
  expect(found.map(({ lineage, aliases }) => [lineage, aliases])).toEqual([
    ['first', ['second']],
    ['first:extra', ['second:extra']],
  ])
})

test('the queue of an order finds the token, and is a name of its lineage', async () => {
  playStory(fixture.google, { token: 'reviewed', order: 'GPA.7' }).subscribe(START)
  const [report] = await reports('order:GPA.7')
  expect(report).toMatchObject({ lineage: 'reviewed', aliases: ['order:GPA.7'] })
  expect(await fixture.play.refresh('order:GPA.8', fixture.context)).toMatchObject({ is: 'unknown' })
})
