import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { startListener } from '../../store/listener.ts'
import { transaction } from '../../store/transaction.ts'
import { CERTIFICATE } from '../harness/certificate.ts'
import { client } from '../harness/client.ts'
import { freshDatabase } from '../harness/database.ts'
import { item } from '../harness/events.ts'
import { finished, WHOLE_YEAR } from '../harness/exports.ts'
import { launch, run } from '../harness/process.ts'
import { executeAll } from '../harness/superuser.ts'
import { tlsBefore } from '../harness/tls-before.ts'
import { until } from '../harness/until.ts'

const KEY = `sk_${'k'.repeat(40)}`

async function folderOf(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-access-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const configuration = (url: string, folder: string) => ({
  DATABASE_URL: url,
  APP_SECRET: 'a secret for tests only, long enough',
  BOOTSTRAP_SECRET_KEY: KEY,
  DATA_DIR: folder,
  PORT: '0',
  LOG_LEVEL: 'warn',
})

test('the owner of an empty database, who may do nothing else, under the limits of a platform: the service migrates, starts and works', async () => {
  const { superuser } = inject('embedded')
  const name = `owner_${process.pid}`
  const limits = { statement_timeout: '2s', idle_in_transaction_session_timeout: '1s', idle_session_timeout: '500ms' }
  await executeAll(superuser, [
    `create role ${name} login password 'owner' nosuperuser nocreatedb nocreaterole`,
    `create database ${name} owner ${name}`,
    `revoke all on database ${name} from public`,
    ...Object.entries(limits).map(([setting, value]) => `alter role ${name} set ${setting} = '${value}'`),
  ])
  onTestFinished(() => executeAll(superuser, [`drop database ${name} with (force)`, `drop role ${name}`]))
  const address = new URL(superuser)
  Object.assign(address, { username: name, password: 'owner', pathname: `/${name}` })
  const running = await run({ env: configuration(address.href, await folderOf()) })
  try {
    const api = client(running.url, KEY)
    expect((await api('POST', '/v4/events', { body: { events: [item()] } })).body.created).toBe(1)
    const { body } = await api('POST', '/v4/exports', { body: WHOLE_YEAR })
    expect(await finished(api, body.id)).toMatchObject({ status: 'done', rows_written: 1 })
    // Connections are idle for longer than the platform allows, and the next requests find them open.
    await new Promise(resolve => setTimeout(resolve, 700))
    const answers = await Promise.all(Array.from({ length: 12 }, () => api('GET', '/v4/events')))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(running.output()).not.toMatch(/"level":(40|50)/)
  } finally {
    await running.end()
  }
})

test('the certificate of the database is checked against the authority of its address, for each of several hosts', async () => {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const { port, username, password, pathname } = new URL(database.url)
  const encrypted = await tlsBefore(Number(port))
  onTestFinished(() => encrypted.close())
  const folder = await folderOf()
  const authority = join(folder, 'ca.pem')
  await writeFile(authority, CERTIFICATE)
  const address = (hosts: string, query: string) => `postgres://${username}:${password}@${hosts}${pathname}?${query}`
  const trusted = `sslmode=verify-full&sslrootcert=${authority}`
  for (const hosts of [`localhost:${encrypted.port}`, `localhost:1,127.0.0.1:${encrypted.port}`]) {
    const pool = connect({ url: address(hosts, trusted), max: 1 })
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  }
  const refused = launch({ env: configuration(address(`localhost:${encrypted.port}`, 'sslmode=verify-full'), folder) })
  expect(await refused.ended).toBe(1)
  expect(refused.output()).toMatch(/^perennial: the certificate of the database is not trusted [^\n]*\n$/)
})

test('of several hosts the one that accepts writes is found, also by listeners; without one the reason names each host', async () => {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const { host, port, username, password, pathname, search } = new URL(database.url)
  const address = (hosts: string) => `postgres://${username}:${password}@${hosts}${pathname}${search}`
  const heard: string[] = []
  let isConnected = false
  const listener = startListener(address(`127.0.0.1:1,${host}`), { news: payload => void heard.push(payload) }, () => {
    isConnected = true
  })
  onTestFinished(() => listener.stop())
  const pool = connect({ url: address(`127.0.0.1:1,${host}`), max: 1 })
  onTestFinished(() => pool.end())
  await until('the listener', () => isConnected || undefined)
  await pool.query(`select pg_notify('news', 'good')`)
  await until('the notice', () => heard.includes('good') || undefined)

  const nowhere = connect({ url: address('127.0.0.1:1,127.0.0.1:2'), max: 1 })
  await expect(nowhere.query('select 1')).rejects.toMatchObject({
    code: '57P03',
    message: expect.stringMatching(/127\.0\.0\.1:1 .*127\.0\.0\.1:2 /),
  })
  await nowhere.end()

  // A server that is made read-only counts as none; a connection on which it has refused a write is not used again.
  const [before] = (await pool.query('select pg_backend_pid() as pid')).rows
  await pool.query('set default_transaction_read_only = on')
  await expect(transaction(pool, tx => tx.query('create table refused (a int)'))).rejects.toMatchObject({ code: '25006' })
  const [after] = (await pool.query('select pg_backend_pid() as pid')).rows
  expect(after.pid).not.toBe(before.pid)
  await database.pool.query(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`)
  // By other hosts, because what was found for the others is known for a moment.
  const readOnly = connect({ url: address(`127.0.0.1:2,127.0.0.1:${port}`), max: 1 })
  await expect(readOnly.query('select 1')).rejects.toThrow('is read-only')
  await readOnly.end()
})
