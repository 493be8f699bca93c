import { existsSync, globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NODE_ONLY, ON_DENO } from '../deno.ts'

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
