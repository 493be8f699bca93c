// What may happen to a few users, as plain data that fast-check draws and shrinks. Times are seconds before now, or of the step before.
import fc from 'fast-check'
import { DAY, HOUR, type Store } from '../../oracle/history.ts'

export type Way = 'recorded' | 'posted' | 'posted, then recorded'

export type Known = {
  country: string | null
  appVersion: string | null
  locale: string | null
  device: string | null
  mediaSource: string | null
  campaign: string | null
}

/** `twice`: some, then all of it, which counts as the rest. `halves`: two parts that make the whole. `isPostedAlone`: no PATCH states it. */
export type Refunded = { after: number; part: 'all' | 'some' | 'twice' | 'halves'; isPostedAlone: boolean }

export type PeriodPlan = {
  /** From the end of the period before, negative: early. */
  gap: number
  length: number
  product: string
  currency: string
  /** `0`: a trial. */
  price: string
  isIntro: boolean
  isFamilyShared: boolean
  off: null | { how: 'at once' | 'later' | 'later, and on again'; after: number }
  retry: null | { grace: number | null; expired: number | null }
  refund: null | Refunded
  country: string | null
  screen: string | null
}

export type SubscriptionPlan = { user: number; store: Store; way: Way; startedAgo: number; periods: PeriodPlan[] }
export type SalePlan = {
  user: number
  store: Exclude<Store, 'Stripe'>
  way: Way
  ago: number
  currency: string
  price: string
  product: string
  refund: null | Refunded
  stated: null | 'proceeds' | 'usd'
  country: string | null
  screen: string | null
}
export type SightPlan = { user: number; store: Store; ago: number; name: string; screen: string; known: Known }

export type Plan = {
  /** Which environment of the project. */
  isSandbox: boolean
  /** `isSeen`: an app has shown the user before anything is posted. */
  users: { createdAgo: number; isSeen: boolean; group: string | null }[]
  subscriptions: SubscriptionPlan[]
  sales: SalePlan[]
  sights: SightPlan[]
  /** Null: everything arrives in the order in which it happened. */
  shuffle: number[] | null
}

const PRODUCTS = ['weekly', 'monthly', 'quarterly', 'half-yearly', 'annual', 'daily', 'two-years', 'not linked'] as const
const CURRENCIES = ['USD', 'EUR', 'TRY', 'CHF'] as const
const COUNTRIES = ['DE', 'US', 'BR']
export const SCREENS = ['scr_one', 'scr_two']
const VERSIONS = ['1.0', '1.1', '2.0']
const LOCALES = ['de', 'en']
export const DEVICES = ['phone', 'tablet']
const SOURCES = ['Apple Search Ads', 'Facebook']
export const GROUPS = ['a', 'b']
const CAMPAIGNS = ['summer', 'winter']

/** Null `times` times as often as a value. */
export const rarely = <T>(arbitrary: fc.Arbitrary<T>, times = 5): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: times, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
const seldom = fc.integer({ min: 0, max: 11 }).map(n => n === 11)
/** Anything up to 20 months ago, mostly with odd seconds. Nothing lies in the last hour, where now moves while the test runs. */
const ago = fc.oneof(
  fc.integer({ min: HOUR, max: 600 * DAY }),
  fc.integer({ min: 60 * DAY, max: 400 * DAY }),
  fc.integer({ min: HOUR, max: 40 * DAY }),
  fc.nat(20).map(n => (n + 1) * 30 * DAY),
)

const refunded: fc.Arbitrary<Refunded> = fc.record({
  after: fc.constantFrom(0, 1, 5 * HOUR, 6 * DAY, 40 * DAY),
  part: fc.constantFrom('all', 'all', 'some', 'twice', 'halves'),
  isPostedAlone: fc.boolean(),
})

const usualPrice = fc.constantFrom('9.99', '9.99', '4.990000', '0.01', '119', '1234567.891234')
/** One of it makes the amounts of the environment too large for products of 64 bits. */
const price = fc.oneof({ weight: 40, arbitrary: usualPrice }, { weight: 1, arbitrary: fc.constant('99999999999.99') })

const gap = fc.constantFrom(0, 0, 0, 0, 0, 0, 0, -HOUR, -5 * DAY, DAY - 1, DAY, DAY + 1, 5 * DAY, 59 * DAY, 61 * DAY)
const length = fc.oneof(
  fc.constantFrom(3, 7, 10, 14, 30, 31, 61, 92, 183, 365).map(days => days * DAY),
  fc.integer({ min: 1, max: 400 * DAY }),
)

const period = (isFree: boolean): fc.Arbitrary<PeriodPlan> =>
  fc.record({
    gap,
    length,
    product: fc.constantFrom(...PRODUCTS),
    currency: fc.constantFrom('USD', 'USD', ...CURRENCIES),
    price: isFree ? fc.constant('0') : price,
    isIntro: isFree ? fc.constant(false) : seldom,
    isFamilyShared: seldom,
    off: rarely(
      fc.record({
        how: fc.constantFrom('at once', 'later', 'later, and on again'),
        after: fc.constantFrom(1, HOUR, DAY, 6 * DAY, 300 * DAY),
      }),
      3,
    ),
    retry: rarely(
      fc.record({ grace: rarely(fc.constantFrom(3 * DAY, 16 * DAY), 1), expired: rarely(fc.constantFrom(DAY, 20 * DAY), 2) }),
      3,
    ),
    refund: rarely(refunded),
    country: rarely(fc.constantFrom(...COUNTRIES), 1),
    screen: rarely(fc.constantFrom(...SCREENS), 2),
  })

/** Often the same product and currency all along, often joined, often a trial first. */
const periods: fc.Arbitrary<PeriodPlan[]> = fc
  .tuple(
    fc.boolean(),
    fc.array(fc.tuple(period(false), fc.integer({ min: 0, max: 9 })), { minLength: 1, maxLength: 5 }),
    period(true),
    seldom,
  )
  .map(([startsFree, drawn, trial, isAllFree]) => {
    const [first] = drawn[0]!
    const paid = drawn.map(([one, change]) =>
      change > 4 ? { ...one, product: first.product, currency: first.currency, price: first.price } : one,
    )
    if (isAllFree) return [trial]
    return startsFree ? [{ ...trial, product: first.product }, ...paid] : paid
  })

const way: fc.Arbitrary<Way> = fc.constantFrom('recorded', 'recorded', 'posted', 'posted', 'posted, then recorded')
const user = fc.nat(2)
const store: fc.Arbitrary<Store> = fc.constantFrom('iOS', 'Android', 'Stripe', 'Paddle')

const known: fc.Arbitrary<Known> = fc.record({
  country: rarely(fc.constantFrom(...COUNTRIES), 1),
  appVersion: rarely(fc.constantFrom(...VERSIONS), 1),
  locale: rarely(fc.constantFrom(...LOCALES), 1),
  device: rarely(fc.constantFrom(...DEVICES), 1),
  mediaSource: rarely(fc.constantFrom(...SOURCES), 1),
  campaign: rarely(fc.constantFrom(...CAMPAIGNS), 1),
})

export const plan: fc.Arbitrary<Plan> = fc.record({
  isSandbox: fc.boolean(),
  users: fc.array(fc.record({ createdAgo: ago, isSeen: fc.boolean(), group: rarely(fc.constantFrom(...GROUPS), 1) }), {
    minLength: 3,
    maxLength: 3,
  }),
  subscriptions: fc.array(fc.record({ user, store, way, startedAgo: ago, periods }), { minLength: 1, maxLength: 4 }),
  sales: fc.array(
    fc.record({
      user,
      store: fc.constantFrom('iOS', 'Android', 'Paddle'),
      way,
      ago,
      currency: fc.constantFrom('USD', 'USD', ...CURRENCIES),
      price: fc.oneof(price, fc.constant('0')),
      product: fc.constantFrom('coins', 'coins', 'not linked'),
      refund: rarely(refunded, 2),
      stated: rarely(fc.constantFrom('proceeds', 'usd'), 3),
      country: rarely(fc.constantFrom(...COUNTRIES), 2),
      screen: rarely(fc.constantFrom(...SCREENS), 1),
    }) as fc.Arbitrary<SalePlan>,
    { maxLength: 3 },
  ),
  sights: fc.array(
    fc.record({
      user,
      store,
      ago,
      name: fc.constantFrom('app_opened', 'app_opened', 'screen_shown', 'screen_interacted', 'screen_closed'),
      screen: fc.constantFrom(...SCREENS),
      known,
    }),
    { maxLength: 4 },
  ),
  shuffle: rarely(fc.array(fc.nat(1000), { minLength: 40, maxLength: 40 }), 1),
})
