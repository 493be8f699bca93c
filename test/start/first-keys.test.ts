import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { greeting } from '../../app/greeting.ts'
import { logger } from '../../app/logger.ts'
import { startPerennial } from '../../app/start.ts'
import { freshDatabase } from '../harness/database.ts'
import { run } from '../harness/process.ts'

const GIVEN = { BOOTSTRAP_SECRET_KEY: `sk_${'k'.repeat(40)}`, BOOTSTRAP_PROJECT_KEY: 'p'.repeat(32) }

async function folderOfTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "perennial-first keys'-"))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function started(env: Record<string, string> = {}) {
  const [database, folder] = [await freshDatabase(), await folderOfTest()]
  const running = await run({
    env: {
      DATABASE_URL: database.url,
      APP_SECRET: 'a secret for tests only, long enough',
      DATA_DIR: folder,
      PORT: '0',
      LOG_LEVEL: 'warn',
      ...env,
    },
  })
  onTestFinished(async () => {
    await running.end()
    await database.drop()
  })
  return { running, folder, file: join(folder, 'first-keys') }
}

test('without a terminal the first keys go to a file of this user, and its path is printed', async () => {
  const { running, file } = await started()
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const keys = Object.fromEntries(
    (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map(line => line.split('=')),
  )
  expect(keys).toEqual({
    SECRET_KEY: expect.stringMatching(/^sk_[\w-]{40}$/),
    SANDBOX_KEY: `test_${keys.SECRET_KEY}`,
    PROJECT_KEY: expect.stringMatching(/^[\w-]{32}$/),
  })
  expect(running.output()).toContain(file)
  for (const key of Object.values(keys)) expect(running.output()).not.toContain(key)
  // The request that is printed works in a shell, whatever characters the path has.
  const request = /^ +(\. .*curl .*)$/m.exec(running.output())![1]!
  const { stdout } = await promisify(execFile)('sh', ['-c', `${request} -sS --fail`])
  expect(JSON.parse(stdout)).toMatchObject({ object: 'list', data: [] })
})

test('a worker that makes the first project keeps its keys as well', async () => {
  const { running, file } = await started({ ROLE: 'worker' })
  expect(running.output()).toContain(file)
  expect(await readFile(file, 'utf8')).toContain('SECRET_KEY=sk_')
})

test('a start for a terminal that fails leaves the keys in the file, and the next start names it', async () => {
  const [database, folder] = [await freshDatabase(), await folderOfTest()]
  onTestFinished(() => database.drop())
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const env = {
    DATABASE_URL: database.url,
    APP_SECRET: 'a secret for tests only, long enough',
    DATA_DIR: folder,
    HOST: '127.0.0.1',
    ROLE: 'api',
    LOG_LEVEL: 'silent',
  }
  const start = (port: number) => {
    const config = readConfig({ ...env, PORT: String(port) })
    return startPerennial(config, logger(config.logLevel), { showKeys: true })
  }
  await expect(start((taken.address() as AddressInfo).port)).rejects.toThrow('EADDRINUSE')
  const key = /^SECRET_KEY=(.*)$/m.exec(await readFile(join(folder, 'first-keys'), 'utf8'))![1]!
  const running = await start(0)
  onTestFinished(() => running.stop())
  expect(greeting(running, readConfig(env)).join('\n')).toContain(join(folder, 'first-keys'))
  const answer = await fetch(`${running.url}/v4/events`, { headers: { Authorization: `Bearer ${key}` } })
  expect(answer.status).toBe(200)
})

test('given keys are echoed nowhere', async () => {
  const { running, file } = await started(GIVEN)
  for (const key of Object.values(GIVEN)) expect(running.output()).not.toContain(key)
  await expect(stat(file)).rejects.toThrow('ENOENT')
  const answer = await fetch(`${running.url}/v4/events`, { headers: { Authorization: `Bearer ${GIVEN.BOOTSTRAP_SECRET_KEY}` } })
  expect(answer.status).toBe(200)
})

test('of a given key and a made one, the file has the made one', async () => {
  const { file, running } = await started({ BOOTSTRAP_SECRET_KEY: GIVEN.BOOTSTRAP_SECRET_KEY })
  expect(await readFile(file, 'utf8')).toMatch(/^PROJECT_KEY=[\w-]{32}\n$/)
  expect(running.output()).not.toContain(GIVEN.BOOTSTRAP_SECRET_KEY)
})

test('a terminal is shown the keys that the start has made, and no other', () => {
  const perennial = {
    url: 'http://localhost:1',
    metricsUrl: null,
    console: null,
    keysFile: null,
    firstOperator: null,
    stop: async () => {},
  }
  const shown = greeting({ ...perennial, keys: { secretKey: 'sk_made', projectKey: undefined } }, readConfig({})).join('\n')
  expect(shown).toContain('Secret Key      sk_made')
  expect(shown).not.toContain('Project Key')
  const given = greeting({ ...perennial, keys: { secretKey: undefined, projectKey: undefined } }, readConfig(GIVEN)).join('\n')
  expect(given).not.toContain('Secret Key ')
  expect(given).not.toContain(GIVEN.BOOTSTRAP_SECRET_KEY)
})

test('every secret can come from a file', async () => {
  const folder = await folderOfTest()
  const values = {
    ...GIVEN,
    APP_SECRET: 's'.repeat(32),
    DATABASE_URL: 'postgres://u:p@db/x',
    REDIS_URL: 'redis://:p@redis',
    OPERATOR_PASSWORD: 'o'.repeat(12),
    METRICS_TOKEN: 'm'.repeat(16),
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'key',
    SMTP_URL: 'smtp://u:p@mail',
  }
  const plain = { S3_BUCKET: 'b', SMTP_FROM: 'a@b.example' }
  const files: Record<string, string> = {}
  for (const [name, value] of Object.entries(values)) {
    files[`${name}_FILE`] = join(folder, name)
    await writeFile(join(folder, name), `${value}\n`, { mode: 0o600 })
  }
  expect(readConfig({ ...files, ...plain })).toEqual(readConfig({ ...values, ...plain }))

  await chmod(join(folder, 'APP_SECRET'), 0o606)
  expect(() => readConfig({ ...files, ...plain })).toThrow(/^APP_SECRET_FILE=.*every user can write it/)
  await writeFile(join(folder, 'METRICS_TOKEN'), '\n')
  expect(() => readConfig({ METRICS_TOKEN_FILE: files.METRICS_TOKEN_FILE })).toThrow(/is empty/)
})
