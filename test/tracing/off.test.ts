// A process that sends no traces loads no library for them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { run } from '../harness/process.ts'

let database: FreshDatabase
let folder: string

beforeAll(async () => {
  database = await freshDatabase()
  folder = await mkdtemp(join(tmpdir(), 'perennial-traces-'))
})
afterAll(async () => {
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

test('no module of OpenTelemetry is loaded without an endpoint, by an API and a worker in one process', async () => {
  const env = {
    DATABASE_URL: database.url,
    APP_SECRET: 'a secret for tests only, long enough',
    DATA_DIR: folder,
    PORT: '0',
    LOG_LEVEL: 'fatal',
    OTEL_SERVICE_NAME: 'perennial',
  }
  const running = await run({ env, script: 'test/tracing/loaded-modules.ts' })
  await running.end('SIGKILL')
  expect(running.output()).toContain('Loaded: nothing.')
  // What the test would see.
  expect(running.output()).toMatch(/To send traces: .*@opentelemetry\/sdk-node/)
})
