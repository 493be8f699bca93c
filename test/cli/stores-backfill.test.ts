import { expect, test } from 'vitest'
import { backfillArguments } from '../../cli/stores/backfill.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const given = (project = '', store?: string, from?: string) => ({
  args: store === undefined ? [project] : [project, store],
  values: { from },
})

test('a backfill names project and store, and the day from which on it asks', () => {
  expect(backfillArguments(given('7', 'stripe'), NOW)).toEqual({ project: 7, platform: 'stripe', fromMs: null })
  expect(backfillArguments(given('7', 'apple', '2026-03-01'), NOW)).toEqual({
    project: 7,
    platform: 'apple',
    fromMs: Date.parse('2026-03-01T00:00:00Z'),
  })
})

test.each<[string[], string]>([
  [['x', 'apple'], '"x" is not a project id'],
  [['7'], 'which store?'],
  [['7', 'toString'], 'which store?'],
  [['7', 'apple', '2026-02-30'], '--from must be a date'],
  [['7', 'apple', '1 March 2026'], '--from must be a date'],
  [['7', 'apple', '2026-03-02'], '--from 2026-03-02 is in the future'],
])('%j is refused', (args, says) => {
  expect(() => backfillArguments(given(...args), NOW)).toThrow(says)
})
