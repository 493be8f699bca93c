import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backup } from '../../cli/backup.ts'
import { connect } from '../../store/connect.ts'
import { requireSession } from '../../store/session.ts'
import { transaction } from '../../store/transaction.ts'
import { call } from '../cli/call.ts'
import { client } from '../harness/client.ts'
import { freshDatabase } from '../harness/database.ts'
import { item } from '../harness/events.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'
import { pooler } from '../harness/pooler.ts'
import { launch, run } from '../harness/process.ts'

const KEY = `sk_${'k'.repeat(40)}`

async function behind(mode: 'transaction' | 'session') {
  const database = await freshDatabase()
  const between = await pooler(database.url, mode)
  const folder = await mkdtemp(join(tmpdir(), 'perennial-pooler-'))
  onTestFinished(async () => {
    await between.close()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  const env = {
    DATABASE_URL: between.url,
    APP_SECRET: 'a secret for tests only, long enough',
    BOOTSTRAP_SECRET_KEY: KEY,
    DATA_DIR: folder,
    PORT: '0',
    LOG_LEVEL: 'warn',
  }
  return { env, database, url: between.url }
}

test('the pooler of this test gives each transaction another session, and works for plain transactions', async () => {
  const { url } = await behind('transaction')
  const pool = connect({ url, max: 2 })
  const [one, other] = [await pool.connect(), await pool.connect()]
  const pid = async () => (await one.query('select pg_backend_pid() as pid')).rows[0].pid
  const pids = [await pid(), await pid(), await pid()]
  expect(new Set(pids).size).toBe(2)
  await one.query('begin')
  expect(await pid()).toBe(await pid())
  await one.query('commit')
  for (const each of [one, other]) each.release(true)
  await pool.end()
})

test('a pooler that gives each transaction another session is refused in one line that names the mode that works', async () => {
  const { env } = await behind('transaction')
  for (const ROLE of ['all', 'api', 'worker']) {
    const refused = launch({ env: { ...env, ROLE } })
    expect(await refused.ended).toBe(1)
    expect(refused.output()).toMatch(/^perennial: the address of the database leads to a pooler[^\n]*session mode[^\n]*\n$/)
  }
  const result = await call(backup, [join(env.DATA_DIR, 'backup')], env)
  expect(result).toMatchObject({ code: 1, notes: expect.stringContaining('session mode') })
})

test('with the address of Postgres itself, the requests of the API share sessions', async () => {
  const { env, database } = await behind('transaction')
  const running = await run({ env: { ...env, ROLE: 'api', DATABASE_DIRECT_URL: database.url } })
  onTestFinished(async () => void (await running.end()))
  const api = client(running.url, KEY)
  const answers = await Promise.all(Array.from({ length: 8 }, () => api('POST', '/v4/events', { body: { events: [item()] } })))
  expect(answers.map(({ body }) => body.created)).toEqual(answers.map(() => 1))
  const lists = await Promise.all(Array.from({ length: 12 }, () => api('GET', '/v4/events')))
  // Times are those of UTC, whatever the session is.
  for (const { body } of lists)
    expect(body.data.map((event: { happened_at: string }) => event.happened_at)).toEqual(answers.map(() => item().happened_at))
  expect(running.output()).not.toMatch(/"level":(40|50)/)
})

test('a statement behind a pooler has its settings, its values and the rows of its own, in and outside of transactions', async () => {
  const { url } = await behind('transaction')
  const pool = connect({ url, max: 3, sharesSessions: true, statementTimeoutMs: 7_000 })
  onTestFinished(() => pool.end())
  const text = `select current_setting('statement_timeout') as limit, current_setting('timezone') as zone, $1::int as n`
  const expected = (n: number) => [{ limit: '7s', zone: 'UTC', n }]
  const alone = await Promise.all([1, 2, 3].map(n => pool.query({ name: 'prepared', text, values: [n] })))
  expect(alone.map(({ rows }) => rows)).toEqual([1, 2, 3].map(expected))
  await expect(pool.query('select 1/0')).rejects.toMatchObject({ code: '22012' })
  const changed = await pool.query('create table told (a timestamptz)')
  expect(changed).toMatchObject({ command: 'CREATE', rows: [] })
  await transaction(pool, async tx => {
    const { rowCount } = await tx.query(`insert into told values ('2026-03-01 10:00+01')`)
    expect(rowCount).toBe(1)
    expect((await tx.query({ name: 'prepared', text, values: [4] })).rows).toEqual(expected(4))
  })
  expect((await pool.query('select a from told')).rows).toEqual([{ a: '2026-03-01T09:00:00Z' }])
  // Nothing of it is left in the session, which may be another client's next.
  const plain = connect({ url, max: 1, sharesSessions: true })
  expect((await plain.query(`select current_setting('statement_timeout') as limit`)).rows).toEqual([{ limit: '30s' }])
  await plain.end()
})

test('a pooler in session mode serves the whole product', async () => {
  const { env } = await behind('session')
  const running = await run({ env })
  onTestFinished(async () => void (await running.end()))
  const api = client(running.url, KEY)
  expect((await api('POST', '/v4/events', { body: { events: [item()] } })).body.created).toBe(1)
  const { body } = await api('POST', '/v4/exports', { body: WHOLE_YEAR })
  expect(await finished(api, body.id)).toMatchObject({ status: 'done' })
  expect(running.output()).not.toMatch(/"level":(40|50)/)
})

test('Postgres itself is accepted, also while its sessions are in use', async () => {
  const database = await freshDatabase()
  const busy = await Promise.all(Array.from({ length: 4 }, () => database.pool.connect()))
  await Promise.all(busy.map(each => each.query('begin')))
  await expect(requireSession(database.url)).resolves.toBeUndefined()
  for (const each of busy) each.release(true)
  await database.drop()
})
