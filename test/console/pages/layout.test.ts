import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { moved } from '../../../web/console/chart/chart.tsx'
import { layoutOf, MARGIN } from '../../../web/console/chart/layout.ts'
import { areaOf, barsOf, lineOf } from '../../../web/console/chart/paths.ts'
import { pictureWith, START } from './pictures.ts'

const WIDTH = 900
const HEIGHT = 320
const money = fc.integer({ min: -10_000, max: 10_000 })
const series = fc
  .integer({ min: 1, max: 40 })
  .chain(days => fc.array(fc.array(money, { minLength: days, maxLength: days }), { minLength: 1, maxLength: 6 }))

describe('where a chart draws', () => {
  test('each position gives back its value and its bucket', () => {
    fc.assert(
      fc.property(series, fc.constantFrom('line', 'column', 'area'), (values, kind) => {
        const layout = layoutOf(pictureWith(values, { kind }), WIDTH, HEIGHT)
        for (const [at, own] of values.entries())
          for (const [bucket, value] of own.entries()) {
            const span = layout.shown[at]!.spans[bucket]!
            expect(layout.yScale.invert(layout.y(span[1]))).toBeCloseTo(value, 6)
            expect(layout.bucketAt(layout.x(bucket))).toBe(bucket)
          }
      }),
      { numRuns: 60 },
    )
  })

  test('parts stand on each other, what is below zero downwards, and every end is inside the chart', () => {
    fc.assert(
      fc.property(series, values => {
        const layout = layoutOf(pictureWith(values, { stacked: true }), WIDTH, HEIGHT)
        for (const bucket of values[0]!.keys()) {
          const own = values.map(line => line[bucket]!)
          const ends = layout.shown.map(({ spans }) => spans[bucket]!)
          const sum = (of: number[]) => of.reduce((total, value) => total + value, 0)
          expect(Math.max(0, ...ends.map(([, to]) => to))).toBe(sum(own.filter(value => value > 0)))
          expect(Math.min(0, ...ends.map(([, to]) => to)) + 0).toBe(sum(own.filter(value => value < 0)) + 0)
          for (const [from, to] of ends)
            for (const y of [layout.y(from), layout.y(to)]) {
              expect(y).toBeGreaterThanOrEqual(MARGIN.top - 1e-6)
              expect(y).toBeLessThanOrEqual(HEIGHT - MARGIN.bottom + 1e-6)
            }
        }
      }),
      { numRuns: 60 },
    )
  })

  test('bars and lines begin at zero', () => {
    for (const kind of ['line', 'column', 'area'] as const)
      expect(layoutOf(pictureWith([[500, 510, 520]], { kind }), WIDTH, HEIGHT).yScale.domain()[0]).toBe(0)
  })

  test('a place beside the chart is no bucket', () => {
    const { bucketAt } = layoutOf(pictureWith([[1, 2, 3]]), WIDTH, HEIGHT)
    expect([bucketAt(0), bucketAt(WIDTH + 40)]).toEqual([undefined, undefined])
  })

  test('what time can still change begins at its bucket', () => {
    const picture = pictureWith([[1, 2, 3, 4]], { openFrom: START + 2 * 86_400 })
    expect(layoutOf(picture, WIDTH, HEIGHT).open).toBe(2)
    expect(layoutOf({ ...picture, openFrom: null }, WIDTH, HEIGHT).open).toBe(4)
  })

  test('a hidden series leaves the others their numbers, and so their colours', () => {
    const layout = layoutOf(pictureWith([[1], [2], [3]], { hidden: new Set(['Series 0']) }), WIDTH, HEIGHT)
    expect(layout.shown.map(({ at }) => at)).toEqual([1, 2])
  })

  test('the previous period is drawn where there is one series', () => {
    const one = { label: 'One', values: [1, 2], previous: [7, 9] }
    const of = (lines: (typeof one)[]) => layoutOf({ ...pictureWith([[1, 2]], { comparing: true }), lines }, WIDTH, HEIGHT)
    expect(of([one]).previous).toEqual([7, 9])
    expect(of([one]).yScale.domain()[1]).toBeGreaterThanOrEqual(9)
    expect(of([one, { ...one, label: 'Two' }]).previous).toBeUndefined()
  })
})

describe('paths', () => {
  const pathsOf = (values: (number | null)[]) => {
    const layout = layoutOf(pictureWith([values], { kind: 'line' }), WIDTH, HEIGHT)
    const { spans } = layout.shown[0]!
    return { line: lineOf(layout, spans, 0, values.length), area: areaOf(layout, spans, 0, values.length) }
  }
  const pieces = (path: string) => path.split('M').length - 1

  test('where values are missing, the line and the area are interrupted', () => {
    expect(pieces(pathsOf([1, 2, 3, 4, 5]).line)).toBe(1)
    const { line, area } = pathsOf([1, 2, null, 4, 5])
    expect([pieces(line), pieces(area)]).toEqual([2, 2])
  })

  test('a year of seven parts is seven paths, in steps where bars have no room', () => {
    const layout = layoutOf(pictureWith(new Array(7).fill(new Array(366).fill(5)), { stacked: true }), WIDTH, HEIGHT)
    expect(layout.steps).toBe(true)
    expect(layout.barWidth).toBeCloseTo(layout.step)
    expect(pieces(barsOf(layout, layout.shown[0]!.spans, 0, 0, 366))).toBe(366)
  })

  test('bars of one bucket do not cover each other', () => {
    const layout = layoutOf(pictureWith([[5], [6], [7]]), WIDTH, HEIGHT)
    const edges = [0, 1, 2].map(place => {
      const path = barsOf(layout, layout.shown[place]!.spans, place, 0, 1)
      return [Number(path.match(/^M([\d.]+) /)![1]), Number(path.match(/ ([\d.]+) [\d.]+V[\d.]+Z$/)![1])]
    })
    expect(edges[0]![1]!).toBeLessThanOrEqual(edges[1]![0]!)
    expect(edges[1]![1]!).toBeLessThanOrEqual(edges[2]![0]!)
  })
})

describe('keys of a chart', () => {
  test('arrows come in from the latest bucket and stop at the ends', () => {
    expect(moved('ArrowLeft', undefined, undefined, 10, 2)).toEqual({ at: 9 })
    expect(moved('ArrowLeft', 0, undefined, 10, 2)).toEqual({ at: 0 })
    expect(moved('ArrowRight', 9, undefined, 10, 2)).toEqual({ at: 9 })
    expect(moved('PageUp', 25, 1, 40, 2)).toEqual({ at: 15, series: 1 })
    expect([moved('Home', 5, undefined, 10, 2)?.at, moved('End', 5, undefined, 10, 2)?.at]).toEqual([0, 9])
  })

  test('up and down go round the series', () => {
    expect(moved('ArrowDown', 3, undefined, 10, 2)).toEqual({ at: 3, series: 0 })
    expect(moved('ArrowDown', 3, 1, 10, 2)).toEqual({ at: 3, series: 0 })
    expect(moved('ArrowUp', undefined, undefined, 10, 2)).toEqual({ at: 9, series: 1 })
  })

  test('other keys and an empty chart are left alone', () => {
    expect([moved('a', 3, undefined, 10, 2), moved('ArrowLeft', undefined, undefined, 0, 0)]).toEqual([undefined, undefined])
  })
})
