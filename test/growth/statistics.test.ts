import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSignificant, meansTest, proportionsTest, rounded, sampleSize, upliftOf } from '../../domain/growth/experiments/statistics.ts'

// Expected values come from numeric integration outside of this code.
describe('tests of significance', () => {
  test.each([
    [[40, 200], [60, 200], 0.020921335337794],
    [[10, 1000], [12, 900], 0.497684609748811],
    [[0, 50], [50, 50], 0],
  ] as const)('proportions %j and %j: p %d', ([a, n], [b, m], p) => {
    expect(proportionsTest({ hits: a, of: n }, { hits: b, of: m })).toBeCloseTo(p, 10)
  })

  test.each([
    [[20.8, 7.9, 15], [23, 3.8, 15], 0.019756024470345],
    [[1, 4, 2], [3, 1, 3], 0.370716890385044],
    // With this many degrees of freedom, t is the normal distribution.
    [[0, 1, 5_000_000], [0.001, 1, 5_000_000], 0.1138463],
  ] as const)('means %j and %j: p %d', ([m, v, n], [m2, v2, n2], p) => {
    expect(meansTest({ mean: m, variance: v, n }, { mean: m2, variance: v2, n: n2 })).toBeCloseTo(p, 6)
  })

  test('there is no result for fewer than two users, or without variance', () => {
    expect(proportionsTest({ hits: 1, of: 1 }, { hits: 0, of: 10 })).toBeNull()
    expect(proportionsTest({ hits: 0, of: 10 }, { hits: 0, of: 10 })).toBeNull()
    expect(proportionsTest({ hits: 10, of: 10 }, { hits: 5, of: 5 })).toBeNull()
    expect(meansTest({ n: 1, mean: 1, variance: null }, { n: 5, mean: 1, variance: 1 })).toBeNull()
    expect(meansTest({ n: 5, mean: 1, variance: 0 }, { n: 5, mean: 2, variance: 0 })).toBeNull()
    expect([null, 0.05, 0.0499].map(isSignificant)).toEqual([null, false, true])
  })

  test('p is a probability, the same from both sides, and smaller for a larger difference', () => {
    const count = fc.integer({ min: 2, max: 100_000 })
    fc.assert(
      fc.property(count, count, fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (n, m, x, y) => {
        const [a, b] = [
          { hits: Math.floor(x * n), of: n },
          { hits: Math.floor(y * m), of: m },
        ]
        const p = proportionsTest(a, b)
        expect(p).toBe(proportionsTest(b, a))
        if (p !== null) expect(p >= 0 && p <= 1).toBe(true)
      }),
    )
    const at = (mean: number) => meansTest({ n: 30, mean: 0, variance: 4 }, { n: 20, mean, variance: 9 })!
    expect([0, 0.1, 1, 2, 5].map(at)).toEqual([0, 0.1, 1, 2, 5].map(at).sort((a, b) => b - a))
    expect(at(0)).toBe(1)
  })
})

describe('figures beside it', () => {
  test('users per group for power 0.8 at α 0.05', () => {
    expect(sampleSize({ mean: 0.2, variance: 0.16 }, { mean: 0.25, variance: 0.1875 })).toBe(1091)
    expect(sampleSize({ mean: 20.8, variance: 7.9 }, { mean: 23, variance: 3.8 })).toBe(19)
    expect(sampleSize({ mean: 1, variance: 1 }, { mean: 1, variance: 2 })).toBeNull()
    expect(sampleSize({ mean: 1, variance: null }, { mean: 2, variance: 2 })).toBeNull()
  })

  test('uplift is percent of the control; halves round away from zero', () => {
    expect(upliftOf(3, 2)).toBe(50)
    expect(upliftOf(1, 4)).toBe(-75)
    expect(upliftOf(1, 0)).toBeNull()
    expect([2.125, -2.125, -0.001, 33.333].map(rounded)).toEqual([2.13, -2.13, 0, 33.33])
  })
})
