import fc from 'fast-check'
import { expect, test } from 'vitest'
import { analyticsName } from '../../workflows/destinations/firebase.ts'
import { fitToLimits } from '../../workflows/destinations/vendor-limits.ts'

const value = fc.oneof(fc.string({ unit: 'binary' }), fc.double({ noDefaultInfinity: true, noNaN: true }), fc.boolean())
const fields = fc.dictionary(fc.string({ unit: 'grapheme' }), value, { maxKeys: 60 })

test('what fits is the front of what is there, within every limit', () => {
  fc.assert(
    fc.property(fields, fc.nat(30), fc.nat(50), fc.nat(2000), (all, most, characters, bytes) => {
      const fitting = fitToLimits(all, { most, characters, bytes: bytes + 2 })
      const names = Object.keys(fitting)
      expect(names).toEqual(Object.keys(all).slice(0, names.length))
      expect(names.length).toBeLessThanOrEqual(most)
      expect(Buffer.byteLength(JSON.stringify(fitting))).toBeLessThanOrEqual(bytes + 2)
      for (const given of Object.values(fitting)) if (typeof given === 'string') expect(given.length).toBeLessThanOrEqual(characters)
    }),
  )
})

test('without limits everything fits', () => {
  fc.assert(fc.property(fields, all => void expect(Object.keys(fitToLimits(all, {}))).toEqual(Object.keys(all))))
})

test('of two names that become one the first stays', () => {
  expect(fitToLimits({ 'a.b': 1, a_b: 2, c: 3 }, { name: analyticsName, most: 2 })).toEqual({ a_b: 1, c: 3 })
})
