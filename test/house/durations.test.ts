import { expect, test } from 'vitest'
import { merged } from '../harness/durations.ts'

test('durations are added to those that are known: of files that passed, took long and exist', () => {
  const known = { 'a/slow': 40, 'a/failing': 30, 'a/quick-now': 20, 'a/removed': 10, 'a/other': 50 }
  const ran = [
    { name: 'a/slow', seconds: 60, passed: true },
    { name: 'a/failing', seconds: 6, passed: false },
    { name: 'a/quick-now', seconds: 4, passed: true },
    { name: 'a/new', seconds: 5, passed: true },
  ]
  const now = merged(known, ran, name => name !== 'a/removed')
  expect(Object.entries(now)).toEqual([
    ['a/slow', 60],
    ['a/other', 50],
    ['a/failing', 30],
    ['a/new', 5],
  ])
})
