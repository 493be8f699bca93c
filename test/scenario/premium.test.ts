import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'

// The commands of docs/premium.md, as they stand there.
const page = readFileSync(new URL('../../docs/premium.md', import.meta.url), 'utf8')

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

/** The fields of a value, without what differs from run to run. */
const shape = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/QON_[0-9a-f]+/g, 'USER')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME'),
  )

test('the commands of the page lead from a purchase to an active entitlement, and to the answer that it shows', async () => {
  const [first, ...blocks] = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands!)
  expect(first).toBe('export KEY=sk_…\n')
  const commands = blocks.join('').replaceAll('http://localhost:8080', api.url)
  const env = { PATH: process.env.PATH ?? '', KEY: api.project.secret }
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], { env })
  const answers = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(answers.map(({ object }) => object)).toEqual(['product', 'entitlement', 'purchase', 'list'])
  const [, shown] = /^```json\n([\s\S]*?)^```$/m.exec(page)!
  expect(shape(answers.at(-1))).toEqual(shape(JSON.parse(shown!)))
})
