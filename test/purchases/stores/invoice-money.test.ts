import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callsOf, expectAnswersByReplicas } from '../../analytics/figures/answer-difference.ts'
import { share } from '../../harness/effort.ts'
import { appleSubscription } from '../../harness/stores/apple-subscription.ts'
import { paddleStory } from '../../harness/stores/paddle-story.ts'
import { type ReachedStores, startStores } from '../../harness/stores/reached-stores.ts'
import type { LineSetup } from '../../harness/stores/stripe-objects.ts'
import { stripeStory } from '../../harness/stores/stripe-story.ts'

// What changes of a plan cost, as the two stores that prorate invoice it: the sum of sales is what was paid, less what was given back, and MRR is
// the plan that is active.

const DAY = 86_400_000
const MONTH = 30 * DAY
/** In cents. */
const PLANS = { basic: 1000, pro: 3000, max: 9999 } as const
type PlanName = keyof typeof PLANS

let stores: ReachedStores
beforeAll(async () => {
  stores = await startStores({ replica: true })
})
afterAll(() => stores.stop())
beforeEach(() => stores.begin())

/** A subscription that a store invoices. Each step gives what was paid with it, in cents; a credit on the balance counts when it is given. */
type Invoiced = {
  endsAt: () => number
  change: (at: number, plan: PlanName, quantity: number) => number
  renew: () => number
  refund: (at: number, share: number) => number
  /** Tells the service of the subscription, whose whole history it asks for then. */
  sendPush: () => Promise<number>
}
type Begin = (at: number, plan: PlanName, user: string) => Promise<Invoiced>

const restOf = (at: number, ends: number) => (ends - at) / MONTH
const part = (amount: number, share: number) => Math.round(amount * share)

const stripe: Begin = async (at, plan, userId) => {
  await stores.connectStripe()
  const itemOf = (name: PlanName, quantity: number) => ({ id: 'si_1', product: `prod_${name}`, amount: PLANS[name], quantity })
  let now = itemOf(plan, 1)
  const story = stripeStory(stores.stripe, { userId, items: [now] })
  story.subscribe(at)
  return {
    endsAt: story.endsAt,
    change(at, name, quantity) {
      const [before, next] = [now, itemOf(name, quantity)]
      const share = restOf(at, story.endsAt())
      const line = ({ id, product, amount, quantity }: typeof now, sign: number): LineSetup => ({
        ...{ ...story.rest(at), item: id, product, quantity, isProration: true },
        amount: sign * part(amount * quantity, share),
      })
      const lines = [line(before, -1), line(next, 1)]
      now = next
      story.change(at, [next], lines)
      return lines.reduce((sum, { amount }) => sum + amount, 0)
    },
    renew() {
      story.renew()
      return now.amount * now.quantity
    },
    refund(at, share) {
      const charge = stores.stripe.charges.get(`ch_${story.latest().id}`)
      if (!charge || charge.amount_refunded > 0) return 0
      const amount = Math.floor(charge.amount * share)
      if (amount > 0) story.refund(at, amount)
      return -amount
    },
    sendPush: () => stores.pushStripe(story.updated(Date.now()).body),
  }
}

const paddle: Begin = async (at, plan, accountId) => {
  await stores.connectPaddle()
  const itemOf = (product: PlanName, quantity: number) => ({ product, quantity, price: String(PLANS[product] * quantity) })
  let now = itemOf(plan, 1)
  const story = paddleStory(stores.paddle, { accountId, currency: 'USD', items: [now] })
  let [push] = story.subscribe(at)
  return {
    endsAt: story.endsAt,
    change(at, name, quantity) {
      const share = restOf(at, story.endsAt())
      const [before, next] = [now, itemOf(name, quantity)]
      const [credited, charged] = [before, next].map(({ price }) => part(Number(price), share))
      now = next
      const prorated = { ...next, price: String(charged), rest: share.toFixed(9), unit: String(PLANS[name]) }
      ;[push] = story.changeItems(at, [next], [prorated], [{ product: before.product, amount: String(credited) }])
      return charged! - credited!
    },
    renew() {
      ;[push] = story.renew()
      return Number(now.price)
    },
    refund(at, share) {
      const latest = story.latest()
      const isRefunded = [...stores.paddle.adjustments.values()].some(one => one.action === 'refund' && one.transaction_id === latest.id)
      const amount = isRefunded ? 0 : Math.floor(Number(latest.details!.totals!.grand_total) * share)
      if (amount > 0) story.refund(at, String(amount))
      return -amount
    },
    sendPush: () => stores.pushPaddle(push!.body),
  }
}

const STORES: [string, Begin][] = [
  ['Stripe', stripe],
  ['Paddle', paddle],
]

type Step = { is: 'change'; after: number; plan: PlanName; quantity: number } | { is: 'refund'; share: number } | { is: 'renew' }

/** Plays the steps, as far as they lie before now, renews until now, and tells the service. What was paid, and what is active; both in cents. */
async function play(begin: Begin, startedAgo: number, first: PlanName, steps: Step[]) {
  const { id } = await stores.user()
  let at = Date.now() - startedAgo
  const one = await begin(at, first, id)
  let [paid, active] = [PLANS[first] as number, PLANS[first] as number]
  const latest = Date.now() - 3_600_000
  for (const step of steps) {
    if (step.is === 'refund') paid += one.refund(Math.min(latest, at + 60_000), step.share)
    if (step.is === 'renew' && one.endsAt() < latest - DAY) {
      at = one.endsAt() + 2 * 3_600_000
      paid += one.renew()
    }
    if (step.is === 'change') {
      const changed = Math.floor((at + step.after * (one.endsAt() - at)) / 1000) * 1000
      if (changed > latest) continue
      at = changed
      paid += one.change(at, step.plan, step.quantity)
      active = PLANS[step.plan] * step.quantity
    }
  }
  while (one.endsAt() < Date.now()) paid += one.renew()
  expect(await one.sendPush()).toBe(200)
  await stores.settled()
  return { user: id, paid, active }
}

const WINDOW = () => `from=${Math.floor(Date.now() / 1000) - 300 * 86_400}&to=${Math.floor(Date.now() / 1000) + 60}&unit=month`

/** The totals of a chart's series, by label; the same by both drivers. */
async function totals(code: string): Promise<Record<string, number>> {
  const [one, ...others] = await Promise.all(
    callsOf(stores.api).map(async ({ call }) => {
      const { status, body } = await call('GET', `/v4/analytics/charts/${code}?${WINDOW()}`, { key: stores.project.secret })
      expect(status).toBe(200)
      return Object.fromEntries(body.series.map(({ label, total }: { label: string; total: number }) => [label, total]))
    }),
  )
  for (const other of others) expect(other).toEqual(one)
  return one!
}

/** All that says how much was paid, in cents. */
async function sums(user: string) {
  // Whoever reads a customer has it counted first.
  await stores.good('GET', `/v4/customers/${user}`)
  const { rows } = await stores.api.pool.query<{ refunded: number; net: number }>(
    `select coalesce(sum(e.price), 0)::float8 as refunded, u.net_payments_usd::float8 as net from users u
     join events e on e.environment = u.environment and e.user_id = u.id where u.environment = $1 and u.id = $2 group by u.net_payments_usd`,
    [stores.project.production, user],
  )
  const { refunded, net } = rows[0]!
  const sales = await totals('sales')
  const cents = (units: number) => Math.round(units * 100)
  return {
    log: cents(refunded),
    sales: cents(sales['Sales after refunds']!),
    refunds: cents(sales.Refunds!),
    net: cents(net),
    mrr: cents((await totals('mrr')).MRR!),
  }
}

/** Of all users together and by both ways to count their payments, in cents; the same by both drivers. */
async function lifetimeRevenue(): Promise<number> {
  const found = new Set<number>()
  for (const { call } of callsOf(stores.api))
    for (const mode of ['by_days', 'by_renewals']) {
      const { body } = await call('GET', `/v4/analytics/ltv?mode=${mode}&cohort_from=${DAY / 1000}`, { key: stores.project.secret })
      found.add(Math.round(body.series.at(-1).revenue * 100))
    }
  expect([...found]).toHaveLength(1)
  return [...found][0]!
}

test('at the App Store, which signs no amount: what an upgrade leaves unused is in the log and in the figures', async () => {
  await stores.connectApple()
  const { id, account } = await stores.user()
  const story = appleSubscription(stores.chain, { account })
  stores.apple.production.lineages.push(story.state)
  const begun = Date.now() - 20 * DAY
  expect(await stores.pushApple(story.subscribe(begun))).toBe(200)
  await stores.settled()
  const [{ ends, price } = expect.fail('no purchase')] = await stores.purchases()
  const length = Date.parse(ends!) - Math.floor(begun / 1000) * 1000
  expect(await stores.pushApple(story.upgrade(begun + length / 2, 'max.monthly', 30_000))).toBe(200)
  await stores.settled()
  const found = await sums(id)
  const paid = Math.round(Number(price) * 50) + 3000
  for (const sum of [found.log, found.sales, found.net]) expect(Math.abs(sum - paid)).toBeLessThanOrEqual(1)
  expect([found.refunds, await stores.events()]).toEqual([
    0,
    ['subscription_started', 'subscription_renewed', 'subscription_product_changed', 'subscription_upgraded'],
  ])
})

describe('a month that a coupon makes free', () => {
  /** A month paid, a free one that goes on now. What the log and the charts make of it. */
  async function eventCount(user: string) {
    await stores.settled()
    const names = await stores.events()
    const { log, sales, net } = await sums(user)
    const [subscriptions, trials] = [await totals('new-subscriptions'), await totals('free-trials')]
    return { names, money: [log, sales, net], subscriptions, trials: Object.values(trials) }
  }
  const expected = {
    names: ['subscription_started', 'subscription_renewed'],
    money: [1000, 1000, 1000],
    subscriptions: { Started: 1, Converted: 0 },
    trials: [0],
  }

  test('is a renewal of 0 at Stripe, and no trial', async () => {
    await stores.connectStripe()
    const { id: userId } = await stores.user()
    const story = stripeStory(stores.stripe, { userId, items: [{ id: 'si_1', product: 'prod_basic', amount: 1000 }] })
    story.subscribe(Date.now() - 40 * DAY)
    story.draft()
    const { lines } = story.latest()
    story.setInvoice(story.latest(), {
      amount_due: 0,
      total: 0,
      lines: { ...lines, data: lines.data.map(line => ({ ...line, discount_amounts: [{ amount: 1000, discount: 'di_1' }] })) },
    })
    expect(await stores.pushStripe(story.pay(Date.now() - 10 * DAY).body)).toBe(200)
    expect(await eventCount(userId)).toEqual(expected)
  })

  test('is a renewal of 0 at Paddle, and no trial', async () => {
    await stores.connectPaddle()
    const { id: accountId } = await stores.user()
    const story = paddleStory(stores.paddle, { accountId, currency: 'USD', items: [{ product: 'basic', price: '1000' }] })
    story.subscribe(Date.now() - 40 * DAY)
    const [push] = story.renew()
    for (const line of story.latest().details!.line_items!) line.totals = { total: '0', discount: '1000' }
    expect(await stores.pushPaddle(push!.body)).toBe(200)
    expect(await eventCount(accountId)).toEqual(expected)
  })
})

describe.each(STORES)('at %s', (_, begin) => {
  test.each([
    { first: 'basic', next: 'pro', paid: 2000, mrr: 3000, movement: { Expansion: 20, Contraction: 0 } },
    { first: 'pro', next: 'basic', paid: 2000, mrr: 1000, movement: { Expansion: 0, Contraction: -20 } },
  ] as const)('$first to $next at half time: the credit is in the money, MRR is that of the plan', async ({ first, next, ...expected }) => {
    const { user, paid } = await play(begin, 20 * DAY, first, [{ is: 'change', after: 0.5, plan: next, quantity: 1 }])
    expect(paid).toBe(expected.paid)
    const found = await sums(user)
    expect(found).toEqual({ log: paid, sales: paid, refunds: 0, net: paid, mrr: expected.mrr })
    expect(await totals('mrr-movement')).toMatchObject(expected.movement)
    expect(await lifetimeRevenue()).toBe(paid)
    expectAnswersByReplicas(stores.api)
  })

  test('the log names the purchase that each credit reduces, once, however often the store is asked', async () => {
    await play(begin, 20 * DAY, 'pro', [{ is: 'change', after: 0.5, plan: 'basic', quantity: 1 }])
    await stores.api.pool.query('update store_lanes set next_check_at = clock_timestamp() where project = $1', [stores.project.id])
    await stores.hurry()
    await stores.settled()
    const { rows } = await stores.api.pool.query(
      `select e.price::float8 as price, p.store_product_id like '%pro' as is_of_first from events e join purchases p on p.id = e.purchase
       where e.environment = $1 and e.name = 'subscription_credited'`,
      [stores.project.production],
    )
    expect(rows).toEqual([{ price: -15, is_of_first: true }])
  })

  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      is: fc.constant('change' as const),
      after: fc.double({ min: 0.01, max: 0.99, noNaN: true }),
      plan: fc.constantFrom(...(Object.keys(PLANS) as PlanName[])),
      quantity: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({ is: fc.constant('renew' as const) }),
    fc.record({ is: fc.constant('refund' as const), share: fc.constantFrom(0.1, 0.5) }),
  )

  test('any changes, renewals and refunds: sales, log and customer say what was paid, MRR what is active', {
    timeout: 120_000,
  }, async () => {
    const plays = fc.asyncProperty(
      fc.integer({ min: 3 * DAY, max: 100 * DAY }),
      fc.constantFrom(...(Object.keys(PLANS) as PlanName[])),
      fc.array(step, { maxLength: 6 }),
      async (startedAgo, first, steps) => {
        await stores.begin()
        const { user, paid, active } = await play(begin, startedAgo, first, steps)
        const { refunds: _, ...found } = await sums(user)
        expect(found).toEqual({ log: paid, sales: paid, net: paid, mrr: active })
      },
    )
    await fc.assert(plays, { numRuns: share(12), seed: 20_261_128, endOnFailure: true })
  })
})
