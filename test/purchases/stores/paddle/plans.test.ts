import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { StoreReport } from '../../../../domain/purchases/store-facts/statement.ts'
import { periodsOf, renewalOf, reportsOf } from '../../../harness/stores/google-fixture.ts'
import { type PaddleFixture, paddleFixture } from '../../../harness/stores/paddle-fixture.ts'
import { paddleStory } from '../../../harness/stores/paddle-story.ts'

const DAY = 86_400_000
const START = Date.parse('2026-01-01T10:00:00Z')
const PRO = { product: 'pro', price: '1000' }
const MAX = { product: 'max', price: '2000' }
const EXTRA = { product: 'extra', price: '300' }
let fixture: PaddleFixture
beforeAll(async () => {
  fixture = await paddleFixture(() => START + DAY)
})
afterAll(() => fixture.close())
beforeEach(() => {
  const { live } = fixture
  live.date = new Date(START + DAY).toUTCString()
  for (const kind of [live.subscriptions, live.transactions, live.adjustments]) kind.clear()
})
const reports = async (queue: string) => reportsOf(await fixture.paddle.refresh(queue, fixture.context))
const by = (found: StoreReport[], lineage: string) => found.find(report => report.lineage === lineage)!
const shape = (found: StoreReport[]) =>
  Object.fromEntries(
    found.map(({ lineage, statements }) => [lineage, periodsOf(statements).map(({ subject, product }) => [subject, product])]),
  )

test('a change with a charge begins a period, and ends the one before', async () => {
  const { subscribe, changeItems, id, latest } = paddleStory(fixture.live)
  subscribe(START)
  const first = latest()
  changeItems(START + 15 * DAY, [MAX], [MAX], [{ product: 'pro', amount: '100' }])
  const found = await reports(id)
  expect(found).toHaveLength(1)
  expect(periodsOf(found[0]!.statements)).toMatchObject([
    { subject: first.id, product: 'pro', ends: '2026-01-16T10:00:00Z' },
    { subject: latest().id, product: 'max', price: '20', begins: '2026-01-16T10:00:00Z', ends: '2026-01-31T10:00:00Z', isRenewal: false },
  ])
  expect(periodsOf(found[0]!.statements).some(period => 'level' in period)).toBe(false)
  expect(renewalOf(found[0]!.statements)).toMatchObject({ autoRenews: true, nextProduct: null })
})

test('a change that counts from the renewal on: the next product, then its period', async () => {
  const { subscribe, changeItems, renew, id } = paddleStory(fixture.live)
  subscribe(START)
  changeItems(START + 5 * DAY, [MAX])
  expect(renewalOf((await reports(id))[0]!.statements)).toMatchObject({ autoRenews: true, nextProduct: 'max' })
  changeItems(START + 6 * DAY, [PRO])
  expect(renewalOf((await reports(id))[0]!.statements)).toMatchObject({ nextProduct: null })
  changeItems(START + 7 * DAY, [MAX])
  renew()
  const found = await reports(id)
  expect(found.map(({ lineage }) => lineage)).toEqual([id])
  expect(periodsOf(found[0]!.statements)).toMatchObject([
    { product: 'pro', ends: '2026-01-31T10:00:00Z' },
    { product: 'max', isRenewal: true },
  ])
  expect(renewalOf(found[0]!.statements)).toMatchObject({ nextProduct: null })
})

test('a change that charges nothing begins no period', async () => {
  const { subscribe, changeItems, id } = paddleStory(fixture.live)
  subscribe(START)
  changeItems(START + 5 * DAY, [{ ...PRO, quantity: 2 }], [{ ...PRO, price: '0' }])
  expect(periodsOf((await reports(id))[0]!.statements)).toHaveLength(1)
})

test('a change that is billed in the whole period begins when it is billed', async () => {
  const { subscribe, changeItems, id, latest } = paddleStory(fixture.live)
  subscribe(START)
  const { billing_period } = latest()
  changeItems(START + 5 * DAY, [{ ...PRO, quantity: 2 }], [PRO])
  latest().billing_period = billing_period!
  expect(periodsOf((await reports(id))[0]!.statements)).toMatchObject([
    { ends: '2026-01-06T10:00:00Z' },
    { begins: '2026-01-06T10:00:00Z' },
  ])
})

test('what is bought beside the subscription is a lineage of its own, with transactions of its own', async () => {
  const { subscribe, renew, id, latest } = paddleStory(fixture.live, {
    items: [PRO, EXTRA, { product: 'setup', price: '50', isOnce: true }],
  })
  subscribe(START)
  const first = latest().id
  renew()
  const second = latest().id
  const found = await reports(id)
  expect(shape(found)).toEqual({
    [id]: [
      [first, 'pro'],
      [second, 'pro'],
    ],
    [`${id}:extra`]: [
      [`${first}:extra`, 'extra'],
      [`${second}:extra`, 'extra'],
    ],
    [`${first}:setup`]: [[`${first}:setup`, 'setup']],
  })
  expect(periodsOf(by(found, `${first}:setup`).statements)).toMatchObject([{ isSubscription: false, price: '0.5', ends: null }])
  expect(renewalOf(by(found, `${id}:extra`).statements)).toMatchObject({ autoRenews: true, nextProduct: null })
  const { statements } = by(found, `${id}:extra`)
  const [one] = statements
  expect(one).toMatchObject({ ids: { transaction: `${first}:extra`, subscription: id, storeType: 'subscription' } })
})

test('an add-on in the midst of a period', async () => {
  const { subscribe, changeItems, renew, id, latest } = paddleStory(fixture.live)
  subscribe(START)
  const first = latest().id
  changeItems(START + 5 * DAY, [PRO, EXTRA], [EXTRA])
  const added = latest().id
  const before = { [id]: [[first, 'pro']], [`${id}:extra`]: [[added, 'extra']] }
  expect(shape(await reports(id))).toEqual(before)
  expect(periodsOf(by(await reports(id), id).statements)).toMatchObject([{ ends: '2026-01-31T10:00:00Z' }])
  renew()
  const third = latest().id
  expect(shape(await reports(id))).toEqual({
    [id]: [...before[id]!, [third, 'pro']],
    [`${id}:extra`]: [...before[`${id}:extra`]!, [`${third}:extra`, 'extra']],
  })
})

test('an add-on that is removed is off, the subscription is not', async () => {
  const { subscribe, changeItems, id } = paddleStory(fixture.live, { items: [PRO, EXTRA] })
  subscribe(START)
  changeItems(START + 5 * DAY, [PRO])
  const found = await reports(id)
  expect(renewalOf(by(found, `${id}:extra`).statements)).toMatchObject({ autoRenews: false })
  expect(renewalOf(by(found, id).statements)).toMatchObject({ autoRenews: true, nextProduct: null })
})

test('what was charged keeps its lineage when the items change their order, and after later changes', async () => {
  const { subscribe, renew, changeItems, id } = paddleStory(fixture.live, { items: [PRO, EXTRA] })
  subscribe(START)
  const before = shape(await reports(id))
  changeItems(START + DAY, [EXTRA, PRO])
  expect(shape(await reports(id))).toEqual(before)
  renew()
  const after = shape(await reports(id))
  expect(after[id]!.map(([, product]) => product)).toEqual(['pro', 'pro'])
  expect(after[`${id}:extra`]!.map(([, product]) => product)).toEqual(['extra', 'extra'])
  changeItems(START + 40 * DAY, [MAX, EXTRA], [MAX], [{ product: 'pro', amount: '100' }])
  const later = shape(await reports(id))
  expect(later[id]!.slice(0, 2)).toEqual(after[id])
  expect(later[id]!.at(-1)![1]).toBe('max')
  expect(later[`${id}:extra`]).toEqual(after[`${id}:extra`])
})

test('a credit tells that the old product has gone, also when it comes back before the renewal', async () => {
  const { subscribe, changeItems, renew, id } = paddleStory(fixture.live)
  subscribe(START)
  changeItems(START + 5 * DAY, [MAX], [MAX], [{ product: 'pro', amount: '100' }])
  const before = shape(await reports(id))
  changeItems(START + 10 * DAY, [PRO], [PRO], [{ product: 'max', amount: '100' }])
  renew()
  const after = shape(await reports(id))
  expect(Object.keys(after)).toEqual([id])
  expect(after[id]!.slice(0, 2)).toEqual(before[id])
  expect(after[id]!.map(([, product]) => product)).toEqual(['pro', 'max', 'pro', 'pro'])
})

test('a failed charge of the subscription is one of its add-ons, unless they were removed', async () => {
  const { subscribe, fail, id } = paddleStory(fixture.live, { items: [PRO, EXTRA] })
  subscribe(START)
  fail()
  const since = [{ retrySince: '2026-01-31T10:00:05Z' }]
  for (const { statements } of await reports(id)) expect(periodsOf(statements)).toMatchObject(since)
  const other = paddleStory(fixture.live, { items: [PRO, EXTRA] })
  other.subscribe(START)
  other.changeItems(START + DAY, [PRO])
  other.fail()
  expect(periodsOf(by(await reports(other.id), `${other.id}:extra`).statements)).toMatchObject([{ retrySince: null }])
})

test('the queue of an add-on asks for its subscription', async () => {
  const { subscribe, id } = paddleStory(fixture.live, { items: [PRO, EXTRA] })
  subscribe(START)
  expect((await reports(`${id}:extra`)).map(({ lineage }) => lineage)).toEqual([id, `${id}:extra`])
})
