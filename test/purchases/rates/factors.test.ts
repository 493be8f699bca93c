import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { factorsTo, hasRate, ratesVersion } from '../../../domain/purchases/rates/factors.ts'
import { type FreshDatabase, freshDatabase } from '../../harness/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())
beforeEach(() => database.pool.query('truncate currency_rates'))

const CURRENCIES = ['USD', 'EUR', 'JPY', 'GBP']
const DAYS = 30
const dateOf = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10)
const insert = (currency: string, day: number, rate: string) =>
  database.pool.query('insert into currency_rates values ($1, $2, $3)', [currency, dateOf(day), rate])

/** A rate in 10^-15 USD: of the latest day, else of the earliest later one. */
function rateOn(rates: Map<string, Map<number, bigint>>, currency: string, day: number): bigint | undefined {
  if (currency === 'USD') return 10n ** 15n
  const of = [...(rates.get(currency) ?? [])].sort(([a], [b]) => a - b)
  return (of.findLast(([at]) => at <= day) ?? of[0])?.[1]
}
function factorOn(rates: Map<string, Map<number, bigint>>, source: string, target: string, day: number): bigint | undefined {
  const [a, b] = [rateOn(rates, source, day), rateOn(rates, target, day)]
  if (a === undefined || b === undefined) return undefined
  const [quotient, rest] = [(a * 10n ** 15n) / b, (a * 10n ** 15n) % b]
  return rest * 2n >= b ? quotient + 1n : quotient
}

const decimal = fc.oneof(
  fc.bigInt({ min: 1_000_000n, max: 10n ** 21n }),
  fc.bigInt({ min: 1_000_000n, max: 10n ** 9n }),
  fc.constantFrom(10n ** 15n, 3n * 10n ** 15n),
)
const textOf = (units: bigint) => {
  const digits = units.toString().padStart(16, '0')
  return `${digits.slice(0, -15)}.${digits.slice(-15)}`
}
const given = fc.array(fc.tuple(fc.constantFrom('EUR', 'JPY', 'GBP'), fc.integer({ min: 0, max: DAYS }), decimal), { maxLength: 25 })

test('a factor is the exact quotient of the rates of the day, to 15 decimals half away from zero', async () => {
  await fc.assert(
    fc.asyncProperty(given, fc.constantFrom(...CURRENCIES), fc.integer({ min: 0, max: DAYS }), async (all, target, on) => {
      await database.pool.query('truncate currency_rates')
      const rates = new Map<string, Map<number, bigint>>()
      for (const [currency, day, units] of all) {
        const of = rates.get(currency) ?? new Map<number, bigint>()
        rates.set(currency, of)
        if (of.has(day)) continue
        of.set(day, units)
      }
      const stored = [...rates].flatMap(([currency, of]) => [...of].map(([day, units]) => [currency, dateOf(day), textOf(units)]))
      await database.pool.query(
        'insert into currency_rates select c, d::date, r::numeric from unnest($1::text[], $2::text[], $3::text[]) g(c, d, r)',
        [0, 1, 2].map(i => stored.map(row => row[i]!)),
      )
      if (rateOn(rates, target, 0) === undefined) return
      const expected = (day: (day: number) => number) =>
        CURRENCIES.flatMap(currency =>
          Array.from({ length: DAYS }, (_, i) => `${currency} ${i}: ${factorOn(rates, currency, target, day(i))}`),
        ).filter(line => !line.endsWith('undefined'))
      const perDay = (factors: Awaited<ReturnType<typeof factorsTo>>) =>
        factors.flatMap(({ currency, from, until, factor }) =>
          Array.from({ length: until - from }, (_, i) => `${currency} ${from + i}: ${factor}`),
        )
      const range = { currencies: CURRENCIES, from: 0, until: DAYS }
      expect(perDay(await factorsTo(database.pool, target, range))).toEqual(expected(day => day))
      expect(perDay(await factorsTo(database.pool, target, { ...range, on: dateOf(on) }))).toEqual(expected(() => on))
      const { rows } = await database.pool.query<{ line: string }>(
        `select c || ' ' || d || ': ' || trunc(currency_factor(c, date '1970-01-01' + d, $2) * 1e15) as line
         from unnest($1::text[]) with ordinality c(c, n), generate_series(0, $3::int - 1) d
         where currency_factor(c, date '1970-01-01' + d, $2) is not null order by n, d`,
        [CURRENCIES, target, DAYS],
      )
      expect(rows.map(({ line }) => line)).toEqual(expected(day => day))
    }),
    { numRuns: 60, seed: 4 },
  )
})

test('a quotient whose 16th decimal would round up wrongly is rounded once', async () => {
  // 1 ÷ 3 and near halves: the digits after the 15th are 49…
  await insert('EUR', 0, '0.000000000000001')
  await insert('JPY', 0, '2.000000000000001')
  await insert('GBP', 0, '3')
  const factors = await factorsTo(database.pool, 'JPY', { currencies: ['EUR', 'GBP', 'USD'], from: 5, until: 6 })
  expect(factors.map(({ factor }) => factor)).toEqual([0n, 1_499_999_999_999_999n, 500_000_000_000_000n])
})

test('a stored rate has at most 15 decimals', async () => {
  await expect(insert('EUR', 0, '1.0000000000000001')).rejects.toThrow(/currency_rates_places/)
})

test('whoever keeps rates notices that they have changed', async () => {
  const before = await ratesVersion(database.pool)
  await insert('EUR', 0, '1')
  const after = await ratesVersion(database.pool)
  expect(after).not.toBe(before)
  expect(await ratesVersion(database.pool)).toBe(after)
  await database.pool.query('update currency_rates set usd_per_unit = 2')
  expect(await ratesVersion(database.pool)).not.toBe(after)
})

test('a currency can be converted to when it has a rate', async () => {
  await insert('EUR', 0, '1')
  expect([await hasRate(database.pool, 'USD'), await hasRate(database.pool, 'EUR'), await hasRate(database.pool, 'JPY')]).toEqual([
    true,
    true,
    false,
  ])
})
