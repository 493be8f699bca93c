import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backup } from '../../cli/backup.ts'
import { connect } from '../../store/connect.ts'
import { requireSession } from '../../store/session.ts'
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
