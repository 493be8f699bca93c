import { describe, expect, test } from 'vitest'
import { countryOfStorefront } from '../../../../domain/purchases/stores/storefronts.ts'
import { amountOf, refundedShare } from '../../../../workflows/stores/apple/milliunits.ts'

describe('amounts', () => {
  test.each([
    [0, '0'],
    [1, '0.001'],
    [990, '0.99'],
    [9990, '9.99'],
    [10_000, '10'],
    [1_500_000, '1500'],
    [12_345, '12.345'],
    [9_007_199_254_740_991, '9007199254740.991'],
  ])('%i thousandths', (milliunits, text) => expect(amountOf(milliunits)).toBe(text))

  test.each([[1.5], [-1], [Number.NaN], [2 ** 53]])('%s is none', value => expect(() => amountOf(value)).toThrow('price'))

  test.each<[number, number, string | null]>([
    [9990, 50_000, '4.995'],
    [9990, 33_333, '3.33'],
    [10_000, 12_345, '1.235'],
    [9990, 0, '0'],
    [9990, 100_000, null],
    [9990, 120_000, null],
  ])('of %i thousandths, %i thousandths of a percent', (price, percentage, back) => expect(refundedShare(price, percentage)).toBe(back))
})

describe('storefronts', () => {
  test.each([
    ['USA', 'US'],
    ['DEU', 'DE'],
    ['SVK', 'SK'],
    ['SVN', 'SI'],
    ['AUT', 'AT'],
    ['AUS', 'AU'],
    ['CHE', 'CH'],
    ['CHN', 'CN'],
    ['CIV', 'CI'],
    ['COD', 'CD'],
    ['COG', 'CG'],
    ['KOR', 'KR'],
    ['SWZ', 'SZ'],
    ['XKS', 'XK'],
    ['ZZZ', undefined],
    ['US', undefined],
    [undefined, undefined],
  ])('%s', (storefront, country) => expect(countryOfStorefront(storefront)).toBe(country))
})
