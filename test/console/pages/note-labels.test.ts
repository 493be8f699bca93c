import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { notedBuckets, noteLabels } from '../../../web/console/chart/note-labels.ts'

const DAY = 86_400
const STARTS = Array.from({ length: 30 }, (_, day) => day * DAY)
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Notes in the order of their times, with the letters that a page gives them. */
const notes = fc
  .array(fc.integer({ min: 0, max: 30 * DAY - 1 }), { maxLength: 26 })
  .map(times => times.sort((a, b) => a - b).map((at, n) => ({ at, letter: LETTERS[n]! })))

describe('letters above a chart', () => {
  test('do not touch each other, at any width, and name each note in its order', () => {
    fc.assert(
      fc.property(notes, fc.integer({ min: 2, max: 60 }), (given, step) => {
        const labels = noteLabels(notedBuckets(given, STARTS), bucket => bucket * step)
        for (const [n, { x, text }] of labels.entries()) {
          const next = labels[n + 1]
          if (next) expect(next.x - next.text.length * 4 - (x + text.length * 4)).toBeGreaterThanOrEqual(4)
        }
        const named = labels.flatMap(({ text }) => {
          const [first, last] = text.split('–')
          return last === undefined ? text.split(' ') : [...LETTERS.slice(LETTERS.indexOf(first!), LETTERS.indexOf(last) + 1)]
        })
        expect(named).toEqual(given.map(({ letter }) => letter))
      }),
    )
  })

  test('stand at their bucket where there is room, two of a bucket as two, more as from the first to the last', () => {
    const at = (day: number, letters: string) => [...letters].map(letter => ({ at: day * DAY + 5, letter }))
    const given = [...at(2, 'A'), ...at(10, 'BC'), ...at(20, 'DEF'), ...at(25, 'G')]
    expect(noteLabels(notedBuckets(given, STARTS), bucket => bucket * 10)).toEqual([
      { x: 20, text: 'A' },
      { x: 100, text: 'B C' },
      { x: 200, text: 'D–F' },
      { x: 250, text: 'G' },
    ])
    expect(noteLabels(notedBuckets(given, STARTS), bucket => bucket * 3)).toEqual([
      { x: 6, text: 'A' },
      { x: 30, text: 'B C' },
      { x: 67.5, text: 'D–G' },
    ])
  })
})
