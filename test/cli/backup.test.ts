import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backup } from '../../cli/backup.ts'
import { project } from '../../cli/project.ts'
import { restore } from '../../cli/restore.ts'
import { createExport } from '../../domain/reporting/exports/create.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET } from '../harness/api.ts'
import { type Client, client } from '../harness/client.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { item } from '../harness/events.ts'
import { run } from '../harness/process.ts'
import { until } from '../harness/until.ts'
import { call, temporaryFolder } from './call.ts'

const KEY = 'sk_0123456789abcdef0123456789abcdef'
const WINDOW = { from: '2026-01-01T00:00:00Z', to: '2026-12-31T00:00:00Z' }

async function place() {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const env = { DATABASE_URL: database.url, APP_SECRET, DATA_DIR: await temporaryFolder() }
  return { database, env }
}

const service = (env: Record<string, string>) =>
  run({ env: { ...env, PORT: '0', LOG_LEVEL: 'silent', BOOTSTRAP_SECRET_KEY: KEY, EXPORT_PART_ROWS: '100' } })

const post = (call: Client, count: number) =>
  call('POST', '/v4/events', { body: { events: Array.from({ length: count }, (_, i) => item({ identity_id: `user-${i % 17}` })) } })

const done = (call: Client, id: string) =>
  until('the export', async () => {
    const { body } = await call('GET', `/v4/exports/${id}`)
    return body.status === 'done' ? body : undefined
  })

async function download(url: string): Promise<string> {
  const content = new Uint8Array(await (await fetch(url)).arrayBuffer())
  return createHash('sha256').update(content).digest('hex')
}

/** Whether every partition's next offset is behind its last row and no offset is missing. */
async function isGapless({ pool }: FreshDatabase): Promise<boolean> {
  const { rows } = await pool.query(
    `select 1 from log_positions l left join
       (select environment, partition, count(*) as n, max(log_offset) + 1 as next from events group by 1, 2) e using (environment, partition)
     where l.next_offset <> coalesce(e.n, 0) or l.next_offset <> coalesce(e.next, 0)`,
  )
  return rows.length === 0
}

test('a restored installation is the one that was backed up, and goes on', async () => {
  const source = await place()
  const first = await service(source.env)
  const old = client(first.url, KEY)
  await post(old, 350)
  const created = await old('POST', '/v4/exports', { body: { from_timestamp: WINDOW.from, to_timestamp: WINDOW.to } })
  const finished = await done(old, created.body.id)
  const events = (await old('GET', '/v4/events?limit=40&offset=100')).body
  await first.end()
  // A second export that a worker of the old place holds, which will never be heard of again.
  const open = await transaction(source.database.pool, tx =>
    createExport(tx, 1, { type: 'events', format: 'csv', compression: 'none', platform: null, ...WINDOW }),
  )
  await source.database.pool.query(
    `update due set lease_until = 'infinity', batched_until = 'infinity', fence = 7 where id = (select id from runs where subject = $1)`,
    [open.id],
  )

  const dir = join(await temporaryFolder(), 'backup')
  expect(await call(backup, [dir], source.env)).toMatchObject({ code: 0, out: expect.stringContaining('APP_SECRET is not in it') })
  expect((await stat(dir)).mode & 0o077).toBe(0)
  const target = await place()
  expect(await call(restore, [dir], target.env)).toMatchObject({
    code: 0,
    out: expect.stringContaining(' and 4 export files as of 20'),
  })

  const second = await service(target.env)
  onTestFinished(async () => void (await second.end()))
  const now = client(second.url, KEY)
  expect((await now('GET', '/v4/events?limit=40&offset=100')).body).toEqual(events)
  const again = await done(now, finished.id)
  expect(again.manifest).toEqual(finished.manifest)
  expect(await download(again.file_url)).toBe(finished.manifest.sha256)
  const gone = await done(now, open.id)
  expect(gone.manifest).toEqual(finished.manifest)
  expect(await download(gone.file_url)).toBe(finished.manifest.sha256)

  expect((await post(now, 200)).body.created).toBe(200)
  expect(await isGapless(target.database)).toBe(true)
  const made = await call(project, ['create', '--name', 'Next'], target.env)
  expect(made.out).toMatch(/^Project 2\n/)
})

test('nothing is backed up into a used folder, nor out of nothing', async () => {
  const { env } = await place()
  const folder = await temporaryFolder()
  const dir = join(folder, 'b')
  expect((await call(backup, [dir], env)).code).toBe(0)
  expect(await call(backup, [dir], env)).toMatchObject({ code: 1, notes: expect.stringContaining('is not empty') })
  expect(await call(backup, [join(folder, 'c')], { DATA_DIR: folder })).toMatchObject({
    code: 1,
    notes: expect.stringContaining('nothing to back up'),
  })
  expect(await call(backup, [join(folder, 'd')], { ...env, APP_SECRET: 'another secret altogether, long enough' })).toMatchObject({
    code: 0,
  })
  await call(project, ['create', '--name', 'Shop'], env)
  const wrong = await call(backup, [join(folder, 'e')], { ...env, APP_SECRET: 'another secret altogether, long enough' })
  expect(wrong).toMatchObject({ code: 1, notes: expect.stringContaining('APP_SECRET is not the one') })
  expect((await readdir(folder)).sort()).toEqual(['b', 'd'])
})

test('an interrupted backup leaves nothing', async () => {
  const { env } = await place()
  const folder = await temporaryFolder()
  await expect(call(backup, [join(folder, 'b')], env, AbortSignal.abort(new Error('stopped')))).rejects.toThrow()
  expect(await readdir(folder)).toEqual([])
})
