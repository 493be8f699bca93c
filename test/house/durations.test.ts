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

test('every long file runs in two or three of six turns that follow each other, a short one in each', () => {
  const seconds = { 'a/one': 40, 'b/three': 9, 'a/two': 8, 'b/four': 30, 'b/two': 8, 'a/three': 8, 'a/five': 7, 'c/six': 3, 'c/seven': 2 }
  const runs = (turn: number) => Object.keys(seconds).filter(name => !resting(turn, seconds).includes(name))
  const turns = Array.from({ length: 6 }, (_, turn) => runs(turn))
  const times = (name: string) => turns.filter(names => names.includes(name)).length
  expect(Object.fromEntries(Object.keys(seconds).map(name => [name, times(name)]))).toEqual({
    ...{ 'a/one': 2, 'b/three': 2, 'a/two': 2, 'b/four': 2, 'b/two': 2, 'a/three': 2 },
    ...{ 'a/five': 3, 'c/six': 3, 'c/seven': 6 },
  })
  // Of the long files of a folder each turn runs one.
  expect(turns.every(names => names.some(name => name.startsWith('a/')) && names.some(name => name.startsWith('b/')))).toBe(true)
})
