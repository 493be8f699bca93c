import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generate } from '../../schemas/generate.ts'

const committed = join(import.meta.dirname, '../../schemas/generated')
let fresh: string
const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    .sort()

beforeAll(async () => {
  fresh = mkdtempSync(join(tmpdir(), 'generated-'))
  await generate(fresh)
})
afterAll(() => rmSync(fresh, { recursive: true }))

test('the committed files are those of the description', () => {
  expect(filesOf(committed)).toEqual(filesOf(fresh))
  for (const name of filesOf(fresh)) {
    const same = readFileSync(join(committed, name), 'utf8') === readFileSync(join(fresh, name), 'utf8')
    expect(same, `${name} is stale: npm run generate`).toBe(true)
  }
})

test('the validators need nothing at run time but the formats', () => {
  for (const [name, formats] of [
    ['validators.js', '../formats.ts'],
    ['v3/validators.js', '../../formats.ts'],
  ] as const) {
    const code = readFileSync(join(fresh, name), 'utf8')
    expect(code.match(/^import .*$/gm)).toEqual([`import { formats } from '${formats}'`])
    expect(code.match(/\brequire\((?!"ajv\/dist\/runtime\/\w+"\)\.default')/g)).toBeNull()
  }
})

test('no path of the machine gets into the files', () => {
  for (const name of filesOf(fresh)) expect(readFileSync(join(fresh, name), 'utf8')).not.toContain(join(import.meta.dirname, '../..'))
})
