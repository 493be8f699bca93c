import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compareDecimals, compareText, compareVersions, isDecimal } from '../../../domain/audience/segments/compare.ts'
import type { Comparator, Condition } from '../../../domain/audience/segments/condition.ts'
import { allConditionsMet, withOverrides } from '../../../domain/audience/segments/evaluate.ts'
import type { Profile } from '../../../domain/audience/segments/profile.ts'
import { membersSql } from '../../../domain/audience/segments/sql.ts'
import { spanOf, timeValue } from '../../../domain/audience/segments/time.ts'
import { type FreshDatabase, freshDatabase } from '../../harness/database.ts'
import { share } from '../../harness/effort.ts'

const NO_USER: Profile = {
  id: 'u',
  now: '2026-03-31T12:00:00Z',
  environment: 'prod',
  created_at: '2026-03-01T10:00:00Z',
  last_seen_at: '2026-03-31T12:00:00Z',
  properties: {},
  advertiser_id: null,
  platform: null,
  country: null,
  app_version: null,
  payments_count: 0,
  net_payments_usd: '0',
  subscriptions: [],
  entitlements: [],
  experiments: [],
  segments: {},
  lists: [],
}
const SUBSCRIPTION = { state: null, auto_renewing: true, ever_paid: true, is_paused: false, planned_product: null }
const says = (profile: Partial<Profile>, metric: string, comparator: string, value: string, negate = false) =>
  allConditionsMet([{ metric, comparator: comparator as Comparator, value, negate }], { ...NO_USER, ...profile })

describe('values', () => {
  test.each([
    ['1.0', 'eq', '1'],
    ['-0', 'eq', '0.00'],
    ['007', 'eq', '7'],
    ['-10', 'lt', '-9'],
    ['10', 'gt', '9'],
    ['0.1', 'gt', '0.09999999999999999999999999999999'],
    ['123456789012345678901234567890', 'lt', '123456789012345678901234567890.0000000000000001'],
    // Unless both are decimal numbers, they are compared as text, by code point.
    ['10', 'lt', '9x'],
    ['1e3', 'ne', '1000'],
    ['B', 'lt', 'a'],
    ['😀', 'gt', 'ﬀ'],
    ['1.0', 'contains', '.0'],
    ['1', 'not_contains', '1.0'],
    ['100%', 'not_contains', '1%0'],
    ['a_b', 'contains', '_'],
  ])('a property %s is %s %s', (has, comparator, value) => {
    expect(says({ properties: { n: has } }, 'property:n', comparator, value)).toBe(true)
    expect(says({ properties: { n: has } }, 'property:n', comparator, value, true)).toBe(false)
  })

  test.each([
    ['1.10', 'gt', '1.9'],
    ['1.2', 'eq', '1.2.0'],
    ['1.2.0.1', 'gt', '1.2'],
    ['01.02', 'eq', '1.2'],
    ['2.0b1', 'eq', '2'],
    ['v3', 'eq', '0'],
    ['', 'eq', 'beta'],
    ['1..3', 'lt', '1.1'],
    ['99999999999999999999', 'lt', '100000000000000000000'],
  ])('version %s is %s %s', (has, comparator, value) => {
    expect(says({ app_version: has }, 'app_version', comparator, value)).toBe(true)
  })

  test.each([
    ['eq', '2026-03-01', true],
    ['gt', '2026-03-01', false],
    ['gte', '2026-03-01', true],
    ['lt', '2026-03-01', false],
    ['lte', '2026-03-01', true],
    ['gt', '2026-02-28', true],
    ['lt', '2026-03-02', true],
    ['eq', '2026-03-01T10:00:00Z', true],
    ['eq', '2026-03-01T10:00:00.999Z', true],
    ['eq', '2026-03-01T12:30:00+02:30', true],
    ['gt', '2026-03-01T10:00:00Z', false],
    ['gt', '2026-03-01T09:59:59Z', true],
    ['eq', '-P30DT2H', true],
    ['gte', '-P1M', true],
    ['lt', '-P1M', false],
    ['gt', '-P99999Y', true],
  ])('installed on March 1 at 10 is %s %s: %s', (comparator, value, expected) => {
    expect(says({}, 'install_date', comparator, value)).toBe(expected)
  })

  test('a month ago on the 31st is the last day of the month before', () => {
    const at = (now: string, ago: string) =>
      new Date(spanOf(timeValue(ago)!, Date.parse(now) / 1000).start * 1000).toISOString().slice(0, 19)
    expect(at('2026-03-31T12:00:00Z', '-P1M')).toBe('2026-02-28T12:00:00')
    expect(at('2024-03-31T12:00:00Z', '-P1M')).toBe('2024-02-29T12:00:00')
    expect(at('2024-02-29T00:00:00Z', '-P1Y')).toBe('2023-02-28T00:00:00')
    expect(at('2026-03-31T12:00:00Z', '-P1M1D')).toBe('2026-02-27T12:00:00')
    expect(at('2026-01-15T00:00:00Z', '-P13M')).toBe('2024-12-15T00:00:00')
  })

  test('a user without a value meets only negations and conditions for a difference', () => {
    for (const comparator of ['eq', 'gt', 'gte', 'lt', 'lte', 'contains']) {
      expect(says({}, 'property:n', comparator, '')).toBe(false)
      expect(says({}, 'property:n', comparator, '', true)).toBe(true)
    }
    for (const comparator of ['ne', 'not_contains']) expect(says({}, 'property:n', comparator, '')).toBe(true)
    expect(says({}, 'country', 'not_contains', 'D')).toBe(true)
    expect(says({}, 'app_version', 'lte', '99')).toBe(false)
  })

  test('the state of several subscriptions is the best one', () => {
    const state = (...states: string[]) => ({ subscriptions: states.map(state => ({ ...SUBSCRIPTION, state })) })
    expect(says(state('ended', 'trial', 'retry', 'paid'), 'subscription_state', 'eq', 'active')).toBe(true)
    expect(says(state('ended', 'trial', 'grace'), 'subscription_state', 'eq', 'billing_retry')).toBe(true)
    expect(says(state('ended', 'trial'), 'subscription_state', 'eq', 'trial')).toBe(true)
    expect(says(state('ended'), 'subscription_state', 'eq', 'expired')).toBe(true)
    const neverPaid = { subscriptions: [{ ...SUBSCRIPTION, state: 'ended', auto_renewing: false, ever_paid: false }] }
    expect(says(neverPaid, 'subscription_state', 'eq', 'none')).toBe(true)
  })

  test('a missing segment is never true; a known one follows its members', () => {
    for (const comparator of ['eq', 'ne'])
      for (const negate of [true, false]) expect(says({}, 'segment', comparator, 'seg_gone', negate)).toBe(false)
    const segments: Record<string, Condition[]> = { seg_all: [] }
    expect(says({ segments }, 'segment', 'eq', 'seg_all')).toBe(true)
    expect(says({ segments }, 'segment', 'ne', 'seg_all')).toBe(false)
    expect(says({}, 'segment', 'eq', 'never_paid')).toBe(true)
  })

  test('values that the app reports replace the stored ones', () => {
    const overridden = withOverrides({ ...NO_USER, platform: 'iOS' }, { country: 'de', app_version: '2' })
    const profile = { country: overridden.country, app_version: overridden.app_version, platform: overridden.platform }
    expect(says(profile, 'country', 'eq', 'De')).toBe(true)
    expect(says(profile, 'app_version', 'gte', '2.0')).toBe(true)
    expect(says(profile, 'target_platform', 'eq', 'iOS')).toBe(true)
  })
})

describe('the same in Postgres', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())

  const decimal = fc.stringMatching(/^-?[0-9]{1,40}(\.[0-9]{1,40})?$/)
  const pairs = <T>(arbitrary: fc.Arbitrary<T>, seed: number) => fc.sample(fc.tuple(arbitrary, arbitrary), { numRuns: share(500), seed })

  test('decimals compare as numeric, texts as collate "C"', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 4 }).filter(s => s.isWellFormed() && !s.includes('\0'))
    for (const [samples, type, compare] of [
      [pairs(decimal, 1), 'numeric', compareDecimals],
      [pairs(fc.oneof(text, fc.constantFrom('ﬀ', '😀', '\uffff', '\u{10000}')), 2), 'text collate "C"', compareText],
    ] as const) {
      const { rows } = await database.pool.query(
        `select case when a::${type} < b::${type} then -1 when a::${type} > b::${type} then 1 else 0 end as o from unnest($1::text[], $2::text[]) t(a, b)`,
        [samples.map(([a]) => a), samples.map(([, b]) => b)],
      )
      expect(samples.map(([a, b]) => Math.sign(compare(a, b)))).toEqual(rows.map(({ o }) => o))
    }
    expect(fc.sample(decimal, 200).every(isDecimal)).toBe(true)
  })

  test('durations before now are what timestamp - interval gives', async () => {
    const n = (max: number) => fc.nat(max)
    const samples = fc.sample(
      fc.record({
        now: fc.integer({ min: 0, max: 4_000_000_000 }),
        months: n(400),
        days: n(900),
        seconds: n(200_000),
      }),
      { numRuns: share(1000), seed: 3 },
    )
    const { rows } = await database.pool.query(
      `select extract(epoch from (to_timestamp(t.now) at time zone 'UTC' - make_interval(months => m, days => d, secs => s)) at time zone 'UTC')::bigint as at
       from unnest($1::bigint[], $2::int[], $3::int[], $4::int[]) t(now, m, d, s)`,
      [samples.map(s => s.now), samples.map(s => s.months), samples.map(s => s.days), samples.map(s => s.seconds)],
    )
    const mine = samples.map(({ now, months, days, seconds }) => spanOf(timeValue(`-P${months}M${days}DT${seconds}S`)!, now).start)
    expect(mine).toEqual(rows.map(({ at }) => at))
  })

  test('versions are ordered one way only', () => {
    const version = fc
      .array(fc.constantFrom('0', '1', '10', '9', 'x', '1b', ''), { minLength: 1, maxLength: 4 })
      .map(parts => parts.join('.'))
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(compareVersions(a, b)).toBe(-compareVersions(b, a) || 0)
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0) expect(compareVersions(a, c)).toBeLessThanOrEqual(0)
      }),
    )
  })

  test('the condition fits into any statement: its parameters start at the given number', async () => {
    const conditions: Condition[] = [{ metric: 'client_uid', comparator: 'eq', value: `'; drop table users --`, negate: true }]
    const { sql, parameters } = membersSql(1, conditions, new Map(), { first: 3 })
    const { rows } = await database.pool.query(`select $1::text as a, $2::text as b, ${sql} as member from (values ('x')) u(id)`, [
      'a',
      'b',
      ...parameters,
    ])
    expect(rows).toEqual([{ a: 'a', b: 'b', member: true }])
    expect(membersSql(1, [], new Map())).toEqual({ sql: 'true', parameters: [] })
  })
})
