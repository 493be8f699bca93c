import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, expect, inject, test } from 'vitest'
import { connect, type Pool } from '../../store/connect.ts'
import { knownMigrations, newestOf } from '../../store/schema-history.ts'
import { type Client, client } from '../harness/client.ts'
import { operations } from '../harness/described.ts'
import { advance, hook, must, post } from '../harness/integrations.ts'
import { createLoadResources, endLoad, expectExecutedOnce, moreLoad, noLoad, settled, sink } from '../harness/load.ts'
import { launch, type Running, run } from '../harness/process.ts'
import { OK } from '../harness/receiver.ts'
import { executeAll } from '../harness/superuser.ts'
import { until } from '../harness/until.ts'
import { answersOf, CHARTS, lostIn } from './answers.ts'
import { fillLarge } from './fill-large.ts'
import { watchLocks } from './locks.ts'
import { type CheckedOut, checkOutFormer, commandsOf } from './release.ts'

/** How long both releases work side by side. */
const SECONDS = Number(process.env.UPGRADE_SECONDS ?? 5)
/** Rows of each table that grows with traffic, beside those of the load: `UPGRADE_ROWS=10000000` for a large installation. */
const ROWS = Number(process.env.UPGRADE_ROWS ?? 100_000)
/** Ten million rows of each table take half an hour to make. */
const TIME_LIMIT_MS = 900_000 + 0.3 * ROWS
/** Longer than this no table in use is locked by a migration. */
const LONGEST_LOCK_MS = 1_000
/** They tell of the moment at which they are asked. */
const MOVING = /^\.\/v4\/(?:health|alerts)\b|\.(?:next_probe_at|delivery_error_count|last_error_\w+|lag_seconds|last_used_at)\b/
/** Their windows end with the day. */
const OF_THE_DAY = /^\.\/v4\/analytics\/(?:cohorts|ltv|views|insights)\b/
const today = () => new Date().toISOString().slice(0, 10)
/** Ten failures in a row end an integration. */
const PEOPLE = Array.from({ length: 12 }, (_, n) => ({
  event_name: 'knock',
  price: undefined,
  currency: undefined,
  identity_id: `held-${n}`,
}))
const KEY = `sk_${'k'.repeat(40)}`
const SECRET = 'a secret for tests only, long enough'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** An empty database, without a schema. */
async function emptyDatabase(): Promise<{ url: string; pool: Pool }> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await executeAll(inject('embedded').url, [`create database ${name}`])
  const address = new URL(inject('embedded').url)
  address.pathname = `/${name}`
  const pool = connect({ url: address.href, max: 4 })
  undo.push(async () => {
    await pool.end()
    await executeAll(inject('embedded').superuser, [`drop database ${name} with (force)`])
  })
  return { url: address.href, pool }
}

async function folderOf(kind: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `perennial-${kind}-`))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Every request goes to the next of the addresses. What fails on the server is kept. */
function balanced(urls: () => readonly string[]) {
  const failures: string[] = []
  let turn = 0
  let slowest = 0
  const call: Client = async (method, path, options) => {
    const all = urls()
    const begin = performance.now()
    const answer = await client(all[turn++ % all.length]!, KEY)(method, path, options)
    slowest = Math.max(slowest, performance.now() - begin)
    if (answer.status >= 500) failures.push(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  return { call, failures, slowest: () => Math.round(slowest) }
}

/** A further project, with one of everything, deliveries that are held, and a sandbox with a run that waits for days. */
async function fill(former: CheckedOut, env: Record<string, string>, url: string) {
  const cli = commandsOf(former, env)
  const [, key = ''] = /^Project \d+[\s\S]*Secret Key\s+(\S+)/.exec(await cli('project', 'create', '--name', 'Everything'))!
  await cli('operator', 'invite', 'ada@example.org', '--name', 'Ada', '--owner')
  const filled = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'fill-release.ts'), former.folder, url, key, env.DATABASE_URL!],
    { env: { ...process.env, ...env }, maxBuffer: 2 ** 26 },
  )
  const { made, refused }: { made: string[]; refused: Record<string, string> } = JSON.parse(filled.stdout)
  const call = client(url, key)
  const held = await hook({ call, config: { events: ['*'] } })
  undo.push(() => held.receiver.close())
  held.receiver.otherwise = { status: 401 }
  await post(call, ...PEOPLE)
  await held.become(...PEOPLE.map(() => 'held'))

  const sandbox = client(url, `test_${key}`)
  const later = await hook({ call: sandbox, config: { events: [] } })
  undo.push(() => later.receiver.close())
  const steps = [
    { id: 'wait', type: 'delay', duration: 'P2D' },
    { id: 'tell', type: 'webhook', integration_id: later.id },
  ]
  const data = { initiators: [{ uid: 'opened', type: 'event' }], actions: {}, steps }
  await must(sandbox, 'POST', '/v4/automations', { name: 'Later', status: 'active', data })
  await post(sandbox, { event_name: 'opened', price: undefined, currency: undefined })
  await advance(sandbox, 'PT1S')

  return { key, made, refused, held, later }
}

const folded = (pool: Pool) =>
  until('the facts are folded', async () => ((await pool.query('select 1 from stale_users limit 1')).rowCount === 0 ? true : undefined))

test(
  `an installation of the last release is upgraded while it works: nothing fails, is lost or is done twice (${SECONDS} s side by side, ${ROWS} rows)`,
  async () => {
    const former = await checkOutFormer()
    undo.push(() => former.remove())
    const { url: DATABASE_URL, pool } = await emptyDatabase()
    const common = {
      DATABASE_URL,
      APP_SECRET: SECRET,
      DATA_DIR: await folderOf('upgrade'),
      ALLOW_PRIVATE_NETWORK: 'true',
      PUBLIC_URL: 'https://perennial.example.org',
    }
    const env = (ROLE: string) => ({
      ...common,
      ROLE,
      PORT: '0',
      BOOTSTRAP_SECRET_KEY: KEY,
      LEASE_SECONDS: '30',
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_SECOND: '0',
    })
    const start = async (role: string, folder?: string): Promise<Running> => {
      const old = folder && { cwd: folder, script: join(folder, 'start.mjs') }
      const running = await run({ env: env(role), ...old })
      undo.push(() => running.end('SIGKILL'))
      return running
    }

    // The former release, with rows of every kind.
    const oldApi = await start('api', former.folder)
    await fillLarge(commandsOf(former, common), DATABASE_URL, ROWS)
    const oldWorker = await start('worker', former.folder)
    let urls = [oldApi.url]
    const { call, failures, slowest } = balanced(() => urls)
    const filled = await fill(former, common, oldApi.url)
    console.info(`${former.version} (${former.commit.slice(0, 8)}): ${filled.made.length} operations`, filled.refused)
    expect(filled.made.length).toBeGreaterThan(55)
    const receiver = await sink()
    undo.push(() => receiver.close())
    await createLoadResources(call, receiver.url)
    const { environment } = (await pool.query(`select min(id) as environment from environments where kind = 'production'`)).rows[0]
    const load = noLoad()
    for (let round = 0; round < 5; round++) await moreLoad(call, load, round)
    await folded(pool)

    const asked = (url: string) => answersOf(client(url, filled.key), operations)
    const [before, day] = [await asked(oldApi.url), today()]
    await delay(1_100)
    const moving = new Set(lostIn(before, await asked(oldApi.url)).map(line => line.split(': ')[0]!))
    expect(CHARTS.every(code => Object.keys(before).some(path => path.includes(`/charts/${code}?`)))).toBe(true)
    const ledgerWindow = `?from=2026-01-01T00:00:00Z&to=${new Date().toISOString().slice(0, 19)}Z`
    const promisedIn = async (url: string) => {
      const { data } = (await client(url, filled.key)('GET', `/v4/ledger${ledgerWindow}`)).body
      return Object.fromEntries(data.map(({ kind, promised }: { kind: string; promised: number }) => [kind, promised]))
    }
    const promised = await promisedIn(oldApi.url)

    // Traffic from here on, without a pause.
    let isOver = false
    const traffic = (async () => {
      for (let round = 5; !isOver; round++) {
        await moreLoad(call, load, round)
        await call('GET', '/v4/events?limit=20')
        await delay(250)
      }
    })()
    const locks = await watchLocks(pool)
    const newApi = await start('api')
    const held = await locks.end()
    urls = [oldApi.url, newApi.url]
    const newWorker = await start('worker')
    await delay(SECONDS * 1_000)
    // As behind a load balancer: first nobody asks the old process any more, then it stops.
    urls = [newApi.url]
    await delay(500)
    expect([await oldWorker.end(), await oldApi.end()]).toEqual([0, 0])
    await delay(1_000)
    isOver = true
    await traffic

    console.info(
      JSON.stringify({ side_by_side_s: SECONDS, events: load.events.size, runs: load.pings.size, slowest_ms: slowest(), locks: held }),
    )
    expect(failures).toEqual([])
    expect(Object.entries(held).filter(([, { ms }]) => ms > LONGEST_LOCK_MS)).toEqual([])
    await endLoad(call, load)
    await settled(pool, 300_000, environment)
    await expectExecutedOnce(pool, call, load, receiver, environment)
    // Nobody was killed: nothing was sent twice.
    const ids = receiver.received.filter(({ body }) => body.test !== true).map(({ id }) => id)
    expect(ids.length).toBe(new Set(ids).size)

    // What was there before is there, and says the same.
    await folded(pool)
    const isMoving = (line: string) => moving.has(line.split(': ')[0]!) || MOVING.test(line) || (day !== today() && OF_THE_DAY.test(line))
    const lost = lostIn(before, await asked(newApi.url)).filter(line => !isMoving(line))
    expect(lost).toEqual([])
    expect(await promisedIn(newApi.url)).toEqual(promised)

    // What waited before goes on: held deliveries when their receiver is well again, a run when its time comes.
    const now = client(newApi.url, filled.key)
    filled.held.receiver.received.length = 0
    filled.held.receiver.otherwise = OK
    await must(now, 'POST', `/v4/integrations/${filled.held.id}/status`, { status: 1 })
    await until('the held deliveries', () => (filled.held.receiver.events().length >= PEOPLE.length ? true : undefined))
    const people = filled.held.receiver.events().map(({ body }) => body.identity_id)
    expect(people.sort()).toEqual(PEOPLE.map(({ identity_id }) => identity_id).sort())
    expect(filled.later.receiver.events()).toEqual([])
    await advance(client(newApi.url, `test_${filled.key}`), 'P3D')
    expect(filled.later.receiver.events()).toHaveLength(1)

    // Back is refused, once the schema is newer.
    expect([await newWorker.end(), await newApi.end()]).toEqual([0, 0])
    const known = newestOf(await knownMigrations())
    const { rows } = await pool.query(`select max(version) as version from migrations`)
    expect(rows).toEqual([{ version: known }])
    await pool.query(`insert into migrations (version, name) values ($1, 'of-a-later-release.sql')`, [known + 1])
    const back = launch({ env: env('all'), cwd: former.folder, script: join(former.folder, 'start.mjs') })
    expect([await back.ended, back.output()]).toEqual([
      1,
      expect.stringMatching(
        /^perennial: the database is at version \d+, this program knows version \d+: start the newer program that made it\n$/,
      ),
    ])
  },
  TIME_LIMIT_MS,
)
