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

test('a long file runs in one of six turns that follow each other, a shorter one in one of four, a short one in each', () => {
  const long = ['a', 'b'].flatMap(folder => [1, 2, 3, 4, 5, 6].map(n => [`${folder}/${n}`, 7 + n] as const))
  const seconds = Object.fromEntries([...long, ['c/1', 7], ['c/2', 3], ['c/3', 5], ['c/4', 4], ['d/1', 2]])
  const runs = (turn: number) => Object.keys(seconds).filter(name => !resting(turn, seconds).includes(name))
  const turns = Array.from({ length: 12 }, (_, turn) => runs(turn))
  const every = (name: string) => 12 / turns.filter(names => names.includes(name)).length
  for (const [name] of long) expect([name, every(name)]).toEqual([name, 6])
  expect(['c/1', 'c/2', 'c/3', 'c/4', 'd/1'].map(every)).toEqual([4, 4, 4, 4, 1])
  // Of neighbours each turn has one.
  for (const names of turns)
    expect(['a/', 'b/', 'c/'].map(folder => names.filter(name => name.startsWith(folder)).length)).toEqual([1, 1, 1])
  const sums = turns.map(names => names.reduce((sum, name) => sum + seconds[name]!, 0))
  expect(Math.max(...sums) - Math.min(...sums)).toBeLessThanOrEqual(6)
})
