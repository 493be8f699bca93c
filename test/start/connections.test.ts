import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { problemOf } from '../../api/errors.ts'
import { readConfig } from '../../app/config.ts'
import { roomLine } from '../../app/connections.ts'
import { FIGURES_OF_WORKER, mostConnections, poolsOfApi } from '../../app/pool-sizes.ts'
import { connect } from '../../store/connect.ts'
import { isBehindPooler, readRoom, sessionsToHave } from '../../store/room.ts'
import { CHARTS_AT_ONCE } from '../../workflows/scheduled-report/charts.ts'
import { freshDatabase } from '../harness/database.ts'
import { run } from '../harness/process.ts'
import { executeAll } from '../harness/superuser.ts'
import { until } from '../harness/until.ts'

const DATABASE = { DATABASE_URL: 'postgres://db/x', APP_SECRET: 'x'.repeat(32) }
const sizesOf = (env: Record<string, string>) => readConfig({ ...DATABASE, ...env })

test('a process counts its connections: as the page about operating says', () => {
  const redis = { REDIS_URL: 'redis://r' }
  expect(['api', 'worker', 'all'].map(ROLE => mostConnections(sizesOf({ ROLE })).direct)).toEqual([41, 62, 91])
  expect(['api', 'worker', 'all'].map(ROLE => mostConnections(sizesOf({ ROLE, ...redis })).direct)).toEqual([41, 57, 86])
  expect(mostConnections(sizesOf({ ROLE: 'worker', METRICS_PORT: '0' }))).toEqual({ direct: 64, pooled: 0 })
  expect(mostConnections(sizesOf({ ROLE: 'api', DATABASE_POOL: '8' })).direct).toBe(31)
  expect(mostConnections(sizesOf({ ROLE: 'api', DATABASE_DIRECT_URL: 'postgres://direct/x' }))).toEqual({ direct: 12, pooled: 32 })
})

test('what reads beside its own snapshot finds a second connection, whatever the size of the main pool', () => {
  for (let main = 8; main <= 200; main++) {
    const { requests, figures } = poolsOfApi({ main, execution: 10, recording: 14, files: 10 })
    expect(figures).toBeGreaterThanOrEqual(2 * Math.ceil(requests * 0.4))
  }
  expect(FIGURES_OF_WORKER).toBe(2 * CHARTS_AT_ONCE)
})

test.each([
  ['DATABASE_POOL', '7', '8 to 200'],
  ['DATABASE_POOL_EXECUTION', '3', '4 to 200'],
  ['DATABASE_POOL_RECORDING', '3', '4 to 200'],
  ['DATABASE_POOL_FILES', '5', '6 to 200'],
])('%s=%s is refused: what runs at once would wait for itself', (name, value, rule) => {
  expect(() => sizesOf({ [name]: value })).toThrow(`${name}=${value}: must be a whole number from ${rule}`)
})

test('the line about room names the narrowest limit, with the figures', () => {
  const room = { most: 100, reserved: 3, used: 41, mostOfRole: null, mostOfDatabase: null }
  expect(roomLine(57, room)).toBeNull()
  expect(roomLine(58, room)).toBe(
    'this process may open 58 connections to the database; the server allows 97 (max_connections less the reserved ones), and has 57 left: raise max_connections, or lower DATABASE_POOL',
  )
  expect(roomLine(30, { ...room, mostOfRole: 20 })).toMatch(/may open 30 .* role has a limit of 20/)
  expect(roomLine(30, { ...room, mostOfRole: 25, mostOfDatabase: 10 })).toMatch(/the database has a limit of 10/)
})

test('the room of a server is read by a role that is no superuser, and no pooler stands before it', async () => {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const { most, used } = await readRoom(database.pool)
  expect(most).toBeGreaterThan(20)
  expect(used).toBeGreaterThan(0)
  expect(await isBehindPooler(database.url)).toBe(false)
  expect(await sessionsToHave(database.url, 6)).toBe(6)
  const { superuser } = inject(database.server)
  await until('the server has seen the end of these sessions', async () => {
    const { rows } = await database.pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'perennial-session'`,
    )
    return rows.length === 0 || undefined
  })
  // The fixture's own pool has one of them.
  await executeAll(superuser, [`alter database ${new URL(database.url).pathname.slice(1)} connection limit 5`])
  const found = await sessionsToHave(database.url, 20)
  expect(found).toBeGreaterThan(0)
  expect(found).toBeLessThanOrEqual(5)
})

test('a start on a database without room for its connections says so in one line, and works', async () => {
  const database = await freshDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'perennial-room-'))
  onTestFinished(async () => {
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  })
  const { superuser } = inject(database.server)
  await executeAll(superuser, [`alter database ${new URL(database.url).pathname.slice(1)} connection limit 40`])
  const env = { DATABASE_URL: database.url, APP_SECRET: 'a secret for tests only, long enough', DATA_DIR: folder, PORT: '0', ROLE: 'api' }
  const running = await run({ env: { ...env, LOG_LEVEL: 'warn' } })
  onTestFinished(async () => void (await running.end()))
  expect(running.output().match(/this process may open 41 connections to the database; [^"]*, or lower DATABASE_POOL"/g)).toHaveLength(1)
  expect((await fetch(`${running.url}/readyz`)).status).toBe(200)
})

/** Accepts logins, and never answers a statement: a pooler without sessions. */
async function poolerWithoutSessions(): Promise<string> {
  const sockets = new Set<Socket>()
  const silent = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => socket.write(Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73])))
  })
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const { port } = silent.address() as { port: number }
  return `postgres://u:p@127.0.0.1:${port}/d`
}

test('a start asks a pooler without sessions for two seconds, and no longer', async () => {
  const url = await poolerWithoutSessions()
  const began = performance.now()
  expect(await sessionsToHave(url, 8)).toBe(0)
  expect(performance.now() - began).toBeLessThan(5_000)
})

test('a pooler that accepts a connection and has no session for it: storage_error with a time to come back', async () => {
  const pool = connect({ url: await poolerWithoutSessions(), max: 1 })
  onTestFinished(() => pool.end())
  const error = await pool.query('select 1').catch(thrown => thrown)
  const { status, headers, body } = problemOf(error)
  expect([status, body.error.code, headers]).toEqual([502, 'storage_error', { 'Retry-After': '2' }])
})
