import { expect, test } from 'vitest'
import { backfillArguments } from '../../cli/stores/backfill.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

test('a backfill names project and store, and the day from which on it asks', () => {
  expect(backfillArguments(['7', 'stripe'], NOW)).toEqual({ project: 7, platform: 'stripe', fromMs: null })
  expect(backfillArguments(['7', 'apple', '--from', '2026-03-01'], NOW)).toEqual({
    project: 7,
    platform: 'apple',
    fromMs: Date.parse('2026-03-01T00:00:00Z'),
  })
})

test.each([
  [['x', 'apple'], '"x" is not a project id'],
  [['7'], 'which store?'],
  [['7', 'toString'], 'which store?'],
  [['7', 'apple', 'google'], 'too many arguments: google'],
  [['7', 'apple', '--from', '2026-02-30'], '--from must be a date'],
  [['7', 'apple', '--from', '1 March 2026'], '--from must be a date'],
  [['7', 'apple', '--from', '2026-03-02'], '--from 2026-03-02 is in the future'],
])('%j is refused', (args, says) => {
  expect(() => backfillArguments(args, NOW)).toThrow(says)
})
