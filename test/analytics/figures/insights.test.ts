import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PER_UNIT, PER_UNIT_OF_PROCEEDS } from '../../../domain/analytics/figures/charts/money.ts'
import { roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import { type Measured, measurePeriod } from '../../../domain/analytics/figures/insights/measured.ts'
import { insightsOf } from '../../../domain/analytics/figures/insights/rules.ts'
import type { TestApi } from '../../harness/api.ts'
import { type InsightValues, insightValues } from '../../oracle/insights.ts'
import { CASES, SEED } from './draws.ts'
import { settingWithReplicas } from './open-replicas.ts'
import { plan } from './plans.ts'
import { type PostedPlan, postPlan, storeRates } from './post-plan.ts'
import { ratesBefore } from './rates.ts'
import { stable } from './stable.ts'

const PER_UNIT_OF_MRR = PER_UNIT * 336n

const setting = settingWithReplicas()
let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = setting.api
  await storeRates(api, rates)
})

const whole = String
const money = (perUnit: bigint) => (amount: bigint) => roundedFigure({ top: amount, bottom: perUnit }, 2).toFixed(2)
const pairOf = ({ last, before }: { last: bigint; before: bigint }, shown: (value: bigint) => string) => ({
  last: shown(last),
  before: shown(before),
})

/** What the service measured, as the witness says it. */
const shownValues = (measured: Measured): InsightValues => ({
  ...Object.fromEntries(
    (['users', 'refunded', 'trialsCancelled', 'failing', 'subscribed'] as const).map(name => [name, whole(measured[name])]),
  ),
  ...Object.fromEntries(
    (['paid', 'trialsEnded', 'trialsConverted', 'churned', 'paidAtStart', 'created', 'newcomers', 'paidSoon'] as const).map(name => [
      name,
      pairOf(measured[name], whole),
    ]),
  ),
  proceeds: pairOf(measured.proceeds, money(PER_UNIT_OF_PROCEEDS)),
  mrr: pairOf({ last: measured.mrr.end, before: measured.mrr.start }, money(measured.mrr.perUnit)),
})

const HISTORIES = Math.max(3, Math.ceil(CASES / 30))
const lengths = fc.array(fc.constantFrom(1, 7, 30, 90, 200, 365), { minLength: 3, maxLength: 3 })

/** At midnight (UTC) all periods move on, so no value holds for the seconds around it: `stable` compares nothing there. */
const pastMidnight = async () => {
  const left = 86_400_000 - (Date.now() % 86_400_000)
  if (left < 180_000) await sleep(left)
}

test(`the values of insights into any history are those of the witness: ${HISTORIES} histories, FIGURES_SEED=${SEED}`, {
  timeout: 240_000 + HISTORIES * 5_000,
}, async () => {
  await pastMidnight()
  const { access: duckdb, answers, fallbacks, errors } = setting.open()
  const accesses = Object.entries({ postgres: { ...duckdb, replicas: null }, duckdb })
  const agree = async ({ history, project, statements }: PostedPlan, days: number, isSandbox: boolean) => {
    const expected = stable(history, world => insightValues(world, days))
    if (expected === null) return
    for (const [driver, access] of accesses) {
      const { measured } = await measurePeriod(access, isSandbox ? project.sandboxEnvironment : project.production, history.now, days)
      expect(shownValues(measured), `${driver}: ${days} days of ${JSON.stringify(statements, null, 1)}`).toEqual(expected)
    }
  }
  const property = fc.asyncProperty(plan, lengths, async (drawn, all) => {
    const posted = await postPlan(api, drawn, rates)
    for (const days of all) await agree(posted, days, drawn.isSandbox)
  })
  await fc.assert(property, { numRuns: HISTORIES, seed: SEED, endOnFailure: true })
  expect([new Set(answers), fallbacks, errors]).toEqual([new Set(['replica']), [], []])
})

const same = (value: bigint) => ({ last: value, before: value })
const usd = (amount: number, perUnit: bigint) => (BigInt(amount) * perUnit) / 100n
/** Of a project in which nothing stands out. Money in cents. */
const QUIET: Measured = {
  users: 10_000n,
  paid: same(1_000n),
  refunded: 10n,
  proceeds: same(usd(100_000, PER_UNIT_OF_PROCEEDS)),
  mrr: { end: usd(100_000, PER_UNIT_OF_MRR), start: usd(100_000, PER_UNIT_OF_MRR), perUnit: PER_UNIT_OF_MRR },
  trialsEnded: same(100n),
  trialsConverted: same(40n),
  trialsCancelled: 50n,
  failing: 1n,
  subscribed: 1_000n,
  churned: same(100n),
  paidAtStart: same(1_000n),
  created: same(1_000n),
  newcomers: same(1_000n),
  paidSoon: same(100n),
  received: { lastDay: 10n, before: 280n },
}
const pair = (last: bigint, before: bigint) => ({ last, before })
const proceedsOf = (last: number, before: number) => ({
  proceeds: pair(usd(last, PER_UNIT_OF_PROCEEDS), usd(before, PER_UNIT_OF_PROCEEDS)),
})
const mrrOf = (end: number, start: number) => ({
  mrr: { end: usd(end, PER_UNIT_OF_MRR), start: usd(start, PER_UNIT_OF_MRR), perUnit: PER_UNIT_OF_MRR },
})

/** Values on both sides of each limit and minimum, with the insight that they give. */
const LIMITS: [string, Partial<Measured>, string | null][] = [
  [
    'proceeds',
    proceedsOf(7_000, 10_000),
    'critical: Proceeds fell: 70.00 USD in the last 30 days, 100.00 USD in the 30 days before (-30.0 %).',
  ],
  ['proceeds', proceedsOf(7_001, 10_000), 'tip: Proceeds fell: 70.01 USD in the last 30 days, 100.00 USD in the 30 days before (-30.0 %).'],
  ['proceeds', proceedsOf(9_000, 10_000), 'tip: Proceeds fell: 90.00 USD in the last 30 days, 100.00 USD in the 30 days before (-10.0 %).'],
  ['proceeds', proceedsOf(9_001, 10_000), null],
  ['proceeds', proceedsOf(10_999, 10_000), null],
  [
    'proceeds',
    proceedsOf(11_000, 10_000),
    'positive: Proceeds grew: 110.00 USD in the last 30 days, 100.00 USD in the 30 days before (+10.0 %).',
  ],
  ['proceeds', proceedsOf(1, 9_999), null],
  [
    'proceeds',
    proceedsOf(-100, 10_000),
    'critical: Proceeds fell: -1.00 USD in the last 30 days, 100.00 USD in the 30 days before (-101.0 %).',
  ],
  ['mrr', mrrOf(9_000, 10_000), 'critical: MRR shrank: 90.00 USD now, 100.00 USD 30 days earlier (-10.0 %).'],
  ['mrr', mrrOf(9_700, 10_000), 'tip: MRR shrank: 97.00 USD now, 100.00 USD 30 days earlier (-3.0 %).'],
  ['mrr', mrrOf(9_701, 10_000), null],
  ['mrr', mrrOf(10_500, 10_000), 'positive: MRR grew: 105.00 USD now, 100.00 USD 30 days earlier (+5.0 %).'],
  ['mrr', mrrOf(0, 9_999), null],
  ['refund-rate', { paid: pair(50n, 0n), refunded: 5n }, 'critical: Many refunds: 10.0 % in the last 30 days.'],
  ['refund-rate', { paid: pair(60n, 0n), refunded: 3n }, 'tip: Many refunds: 5.0 % in the last 30 days.'],
  ['refund-rate', { paid: pair(61n, 0n), refunded: 3n }, null],
  ['refund-rate', { paid: pair(49n, 0n), refunded: 49n }, null],
  [
    'trial-to-paid',
    { trialsEnded: pair(30n, 60n), trialsConverted: pair(9n, 24n), trialsCancelled: 15n },
    'critical: Fewer trials convert: 30.0 % in the last 30 days, 40.0 % in the 30 days before (-25.0 %).',
  ],
  [
    'trial-to-paid',
    { trialsEnded: same(100n), trialsConverted: pair(36n, 40n) },
    'tip: Fewer trials convert: 36.0 % in the last 30 days, 40.0 % in the 30 days before (-10.0 %).',
  ],
  [
    'trial-to-paid',
    { trialsEnded: same(100n), trialsConverted: pair(44n, 40n) },
    'positive: More trials convert: 44.0 % in the last 30 days, 40.0 % in the 30 days before (+10.0 %).',
  ],
  ['trial-to-paid', { trialsEnded: pair(100n, 29n), trialsConverted: pair(0n, 29n) }, null],
  ['trial-to-paid', { trialsEnded: same(100n), trialsConverted: pair(44n, 0n) }, null],
  ['trial-cancellation', { trialsCancelled: 70n }, 'tip: Most trials are cancelled: 70.0 % in the last 30 days.'],
  ['trial-cancellation', { trialsCancelled: 69n }, null],
  ['trial-cancellation', { trialsEnded: same(29n), trialsConverted: same(12n), trialsCancelled: 29n }, null],
  ['active-subscriptions', { failing: 100n }, 'critical: Many failed charges: 10.0 % now.'],
  ['active-subscriptions', { failing: 99n }, 'tip: Many failed charges: 9.9 % now.'],
  ['active-subscriptions', { failing: 49n }, null],
  ['active-subscriptions', { failing: 49n, subscribed: 49n }, null],
  [
    'paid-subscriptions-movement',
    { churned: pair(125n, 100n) },
    'critical: Churn rose: 12.5 % in the last 30 days, 10.0 % in the 30 days before (+25.0 %).',
  ],
  [
    'paid-subscriptions-movement',
    { churned: pair(110n, 100n) },
    'tip: Churn rose: 11.0 % in the last 30 days, 10.0 % in the 30 days before (+10.0 %).',
  ],
  [
    'paid-subscriptions-movement',
    { churned: pair(90n, 100n) },
    'positive: Churn fell: 9.0 % in the last 30 days, 10.0 % in the 30 days before (-10.0 %).',
  ],
  ['paid-subscriptions-movement', { churned: pair(91n, 100n) }, null],
  ['paid-subscriptions-movement', { churned: pair(49n, 1n), paidAtStart: same(49n) }, null],
  [
    'users-overview',
    { created: pair(50n, 100n) },
    'critical: Fewer new users: 50 in the last 30 days, 100 in the 30 days before (-50.0 %).',
  ],
  ['users-overview', { created: pair(80n, 100n) }, 'tip: Fewer new users: 80 in the last 30 days, 100 in the 30 days before (-20.0 %).'],
  [
    'users-overview',
    { created: pair(120n, 100n) },
    'positive: More new users: 120 in the last 30 days, 100 in the 30 days before (+20.0 %).',
  ],
  ['users-overview', { created: pair(0n, 99n) }, null],
  [
    'user-to-paid',
    { paidSoon: pair(80n, 100n) },
    'tip: Fewer users pay: 8.0 % in the last 30 days, 10.0 % in the 30 days before (-20.0 %).',
  ],
  [
    'user-to-paid',
    { paidSoon: pair(120n, 100n) },
    'positive: More users pay: 12.0 % in the last 30 days, 10.0 % in the 30 days before (+20.0 %).',
  ],
  ['user-to-paid', { newcomers: pair(99n, 1_000n), paidSoon: pair(0n, 100n) }, null],
  [
    'sales',
    { received: { lastDay: 0n, before: 294n } },
    'critical: No purchases received: No purchase for 24 hours, about 11 a day before.',
  ],
  ['sales', { received: { lastDay: 1n, before: 294n } }, null],
  ['sales', { received: { lastDay: 0n, before: 279n } }, null],
]

test.each(LIMITS)('%s: %o', (metric, values, expected) => {
  const found = insightsOf({ ...QUIET, ...values }, 30).insights.filter(insight => insight.type !== 'info')
  expect(found.map(insight => [insight.metric, `${insight.type}: ${insight.title}: ${insight.body}`])).toEqual(
    expected === null ? [] : [[metric, expected]],
  )
})

describe('the result', () => {
  test('nothing unusual is said when no rule says anything', () => {
    const { insights, ...rest } = insightsOf(QUIET, 7)
    expect(rest).toEqual({
      ...{ health: 'healthy', health_score: 8, is_insufficient_data: false },
      summary: '0 critical, 0 to improve, 0 positive in the last 7 days.',
    })
    expect(insights).toEqual([
      { type: 'info', metric: 'proceeds', title: 'Nothing unusual', body: 'All 7-day values are within their usual range.', action: '' },
    ])
  })

  test('critical ones come first, then tips, then positive ones, each in the order of the rules', () => {
    const { insights, health, health_score, summary } = insightsOf(
      { ...QUIET, ...proceedsOf(11_000, 10_000), ...mrrOf(9_700, 10_000), failing: 200n, trialsCancelled: 80n },
      30,
    )
    expect(insights.map(({ type, metric }) => `${type} ${metric}`)).toEqual([
      'critical active-subscriptions',
      'tip mrr',
      'tip trial-cancellation',
      'positive proceeds',
    ])
    expect([health, health_score, summary]).toEqual(['watch', 4, '1 critical, 2 to improve, 1 positive in the last 30 days.'])
  })

  test.each([
    [{ users: 29n }, true],
    [{ users: 30n }, false],
    [{ paid: pair(4n, 5n) }, true],
    [{ paid: pair(4n, 6n) }, false],
  ])('%o: insufficient %s', (values, isInsufficient) => {
    const result = insightsOf({ ...QUIET, ...values }, 30)
    expect(result.is_insufficient_data).toBe(isInsufficient)
    if (isInsufficient) expect(result).toMatchObject({ health: null, insights: [], summary: 'Not enough data yet.' })
  })
})

describe('GET /v4/analytics/insights', () => {
  let key: string
  let environment: number
  beforeEach(async () => {
    const project = await api.newProject()
    key = project.secret
    environment = project.production
  })
  const fetchInsights = (query = '') => api.call('GET', `/v4/analytics/insights${query}`, { key })
  const sell = (count: number) =>
    api.call('POST', '/v4/events', {
      key,
      body: {
        events: Array.from({ length: count }, (_, n) => ({
          ...{ event_id: `${key}-${n}`, event_name: 'in_app_purchase', identity_id: `user-${n}`, platform: 'iOS', product_id: 'coins' },
          ...{ happened_at: new Date(Date.now() - 26 * 3_600_000).toISOString(), transaction: { transaction_id: `t-${n}` } },
          ...{ price: '10', currency: 'USD' },
        })),
      },
    })

  test('nothing is kept at first, one is computed and kept for six hours', async () => {
    const nothing = await fetchInsights('?cached_only=true')
    expect(nothing.body).toMatchObject({
      ...{ is_cached: false, is_stale: true, health: null, health_score: 0, is_insufficient_data: false, insights: [], period_days: 30 },
      summary: 'No insights have been computed yet.',
    })
    const first = await fetchInsights()
    expect(first.body).toMatchObject({ is_cached: false, is_stale: false, is_insufficient_data: true, summary: 'Not enough data yet.' })
    expect(first.body.generated_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
    await sell(40)
    const kept = { ...first.body, is_cached: true }
    expect([(await fetchInsights()).body, (await fetchInsights('?cached_only=true')).body]).toEqual([kept, kept])
    expect((await fetchInsights('?period=7')).body).toMatchObject({ is_cached: false, period_days: 7, is_insufficient_data: false })
    expect((await fetchInsights('?force=true')).body).toMatchObject({ is_cached: false, is_insufficient_data: false, health: 'healthy' })

    await api.pool.query(`update analytics_insights set generated_at = generated_at - interval '6 hours' where environment = $1`, [
      environment,
    ])
    expect((await fetchInsights('?cached_only=true')).body).toMatchObject({ is_cached: true, is_stale: true })
    expect((await fetchInsights()).body).toMatchObject({ is_cached: false, is_stale: false })
  })

  test.each([
    ['?force=true&cached_only=true', 'cached_only'],
    ['?environment=0', 'environment'],
    ['?period=0', 'period'],
    ['?period=366', 'period'],
  ])('%s is refused', async (query, field) => {
    const { status, body } = await fetchInsights(query)
    expect([status, body.error.details?.[0]?.field ?? body.error.details]).toEqual([400, field])
  })
})
