import { expect, test } from 'vitest'
import { firstOrder, isRenewalOrder, orderChain } from '../../../../workflows/stores/google/fetch-orders.ts'
import { periodTime, priceOf, shareOf } from '../../../../workflows/stores/google/values.ts'
import { countryOf } from '../../../../workflows/stores/stated.ts'

test.each([
  [{ currencyCode: 'USD', units: '4', nanos: 990_000_000 }, 'USD', '4.99'],
  [{ currencyCode: 'JPY', units: '1200' }, 'JPY', '1200'],
  [{ currencyCode: 'KWD', units: '1', nanos: 250_000_000 }, 'KWD', '1.25'],
  [{ currencyCode: 'USD', nanos: 1 }, 'USD', '0.000000001'],
  [{ currencyCode: 'UGX', units: '37000' }, 'UGX', '37000'],
  [{ currencyCode: 'EUR' }, 'EUR', '0'],
  [{ currencyCode: 'USD', units: '-1', nanos: -750_000_000 }, 'USD', '-1.75'],
  [{ currencyCode: 'USD', nanos: -500_000_000 }, 'USD', '-0.5'],
  [{ currencyCode: 'IDR', units: '900719925474099399', nanos: 100_000_000 }, 'IDR', '900719925474099399.1'],
])('%j is %s %s, to the last digit', (money, currency, price) => expect(priceOf(money)).toEqual({ currency, price }))

test.each([
  undefined,
  {},
  { units: '4' },
  { currencyCode: 'euro' },
  { currencyCode: 'EUR', units: 'four' },
  { currencyCode: 'EUR', nanos: 0.5 },
])('%j is no price', money => expect(priceOf(money as object)).toBeNull())

test.each([
  ['70', '100', '0.7'],
  ['1', '3', '0.333333'],
  ['100', '100', '1'],
  ['0', '100', '0'],
  ['101', '100', undefined],
  ['-1', '100', undefined],
  ['0', '0', undefined],
])('%s of %s is %s', (part, whole, share) => {
  const eur = (units: string) => ({ currencyCode: 'EUR', units })
  expect(shareOf(eur(part), eur(whole))).toBe(share)
})

test('a share of another currency says nothing', () =>
  expect(shareOf({ currencyCode: 'EUR', units: '1' }, { currencyCode: 'USD', units: '2' })).toBeUndefined())

test.each([
  ['2026-01-01T00:00:00.999999999Z', '2026-01-01T00:00:00Z'],
  ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00Z'],
  ['yesterday', undefined],
  [undefined, undefined],
])('the time %s is %s', (stated, time) => expect(periodTime(stated)).toBe(time))

test.each([
  ['DE', 'DE'],
  ['de', undefined],
  ['DEU', undefined],
  [undefined, undefined],
])('the country %s is %s', (stated, country) => expect(countryOf(stated)).toBe(country))

test('the orders of a chain, the newest thousand of very many', () => {
  expect(orderChain('GPA.1')).toEqual(['GPA.1'])
  expect(orderChain('GPA.1..2')).toEqual(['GPA.1', 'GPA.1..0', 'GPA.1..1', 'GPA.1..2'])
  expect(orderChain('GPA.1..5000')).toHaveLength(1000)
  expect(orderChain('GPA.1..5000').at(-1)).toBe('GPA.1..5000')
  expect(orderChain('GPA.1..999999999')).toEqual(['GPA.1..999999999'])
  expect(['GPA.1', 'GPA.1..0'].map(isRenewalOrder)).toEqual([false, true])
  expect(firstOrder('GPA.1..12')).toBe('GPA.1')
})
