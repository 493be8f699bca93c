import { existsSync, globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NODE_ONLY, ON_DENO, restingOnDeno } from '../deno.ts'

const ROOT = new URL('../../', import.meta.url)
const names = Object.values(ON_DENO).flat()
/** The folder of a file in `test/`; of a district the folder of its subject. */
const folderOf = (name: string) => name.split('/').slice(0, -1).slice(0, 2).join('/')
const folders = [...new Set(globSync('test/**/*.test.ts', { cwd: ROOT }).map(file => folderOf(file.slice('test/'.length))))].sort()

test('each file that Deno runs exists, and is named once', () => {
  expect(names.filter(name => !existsSync(new URL(`test/${name}.test.ts`, ROOT)))).toEqual([])
  expect(names.filter((name, n) => names.indexOf(name) !== n)).toEqual([])
})

test('of each folder Deno runs a file, or it is said why not', () => {
  const run = new Set(names.map(folderOf))
  expect(folders.filter(folder => !run.has(folder))).toEqual(Object.keys(NODE_ONLY).sort())
})

test('three turns run all of them on Deno, and each turn some of each large folder and what kills processes', () => {
  const runs = [6, 7, 8].map(turn => names.filter(name => !restingOnDeno(turn).includes(name)))
  expect(
    runs
      .flat()
      .filter(name => !name.startsWith('crash/'))
      .sort(),
  ).toEqual(names.filter(name => !name.startsWith('crash/')).sort())
  for (const part of runs) {
    expect(part.length).toBeLessThan(names.length * 0.4)
    for (const folder of ['crash/', 'outgoing/', 'engine/', 'purchases/']) expect(part.some(name => name.startsWith(folder))).toBe(true)
  }
})
