import { expect, test } from 'vitest'
import { merged, resting } from '../harness/durations.ts'

test('durations are added to those that are known: of files that passed, took long and exist', () => {
  const known = { 'a/slow': 40, 'a/failing': 30, 'a/quick-now': 20, 'a/removed': 10, 'a/other': 50 }
  const ran = [
    { name: 'a/slow', seconds: 60, passed: true },
    { name: 'a/failing', seconds: 6, passed: false },
    { name: 'a/quick-now', seconds: 2, passed: true },
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

test('of twelve turns that follow each other a long file runs in three or four, a short one in each', () => {
  const seconds = {
    'a/one': 40,
    'b/three': 9,
    'a/two': 8,
    'b/four': 30,
    'b/two': 8,
    'a/three': 8,
    'a/four': 8,
    'b/one': 8,
    'a/five': 7,
    'c/six': 3,
    'c/seven': 2,
  }
  const runs = (turn: number) => Object.keys(seconds).filter(name => !resting(turn, seconds).includes(name))
  const turns = Array.from({ length: 12 }, (_, turn) => runs(turn))
  const times = (name: string) => turns.filter(names => names.includes(name)).length
  expect(Object.fromEntries(Object.keys(seconds).map(name => [name, times(name)]))).toEqual({
    ...{ 'a/one': 3, 'b/three': 3, 'a/two': 3, 'b/four': 3, 'b/two': 3, 'a/three': 3, 'a/four': 3, 'b/one': 3 },
    ...{ 'a/five': 4, 'c/six': 4, 'c/seven': 12 },
  })
  // Of the long files of a folder each turn runs one.
  expect(turns.every(names => names.some(name => name.startsWith('a/')) && names.some(name => name.startsWith('b/')))).toBe(true)
})
