import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateClient } from '../../schemas/generate.ts'
import { descriptions } from '../../schemas/generated/operations.ts'

const committed = join(import.meta.dirname, '../../clients/typescript/src/generated')
const filesOf = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
const folder = mkdtempSync(join(tmpdir(), 'generated-'))
const fresh = join(folder, 'client')

beforeAll(() => generateClient(fresh))
afterAll(() => rmSync(folder, { recursive: true }))

test('the committed client is that of the description', () => {
  expect(filesOf(committed)).toEqual(filesOf(fresh))
  for (const name of filesOf(fresh).filter(name => name.endsWith('.ts'))) {
    const same = readFileSync(join(committed, name), 'utf8') === readFileSync(join(fresh, name), 'utf8')
    expect(same, `${name} is stale: npm run generate`).toBe(true)
  }
})

test('it needs nothing but itself', () => {
  const imports = filesOf(fresh)
    .filter(name => name.endsWith('.ts'))
    .flatMap(name => [...readFileSync(join(fresh, name), 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(match => match[1]!))
  expect(imports.length).toBeGreaterThan(10)
  expect(imports.filter(path => !/^\.{1,2}\/.*\.ts$/.test(path))).toEqual([])
})

test('every operation is a function', async () => {
  const functions = Object.keys(await import('../../clients/typescript/src/generated/sdk.gen.ts'))
  expect(functions.sort()).toEqual(descriptions.map(({ id }) => id).sort())
})
