import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { Client } from './client.ts'
import { transactionsIn } from './crash-fixture.ts'
import { filesWith } from './erasure.ts'
import { item } from './events.ts'
import { storedFiles } from './exports.ts'
import type { Installation } from './installation.ts'
import { oneOf } from './load.ts'
import { tracesOf } from './traces.ts'
import { until } from './until.ts'

// Exports, downloads, erasures and retention under load, in the sandbox: its clock may move while the jobs of production wait. The check
// afterwards: has each file exactly its rows, has each export that failed a storage that failed, and is nothing left over?

const DAY_MS = 86_400_000
/** The longest window of an export: all jumps together stay within. */
const LONGEST_DAYS = 360
const FORMATS = [{ format: 'csv' }, { format: 'csv', compression: 'gzip' }, { format: 'parquet' }, { format: 'csv', formula_guard: true }]
const PEOPLE_PER_ROUND = 3
const EVENTS_PER_ROUND = 12
/** One in so many rounds erases a person; one in so many downloads a file. */
const ERASURES = 6
const DOWNLOADS = 2

type Sent = { transaction: string; person: string }
export type FilesLoad = {
  window: { from_timestamp: string; to_timestamp: string }
  random: () => number
  sent: Sent[]
  erased: Map<string, string>
  /** By the export's id, how many of the events it has been asked for. */
  exports: Map<string, number>
  days: number
}

export function noFiles(random: () => number): FilesLoad {
  const now = Date.now()
  const at = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString()
  const window = { from_timestamp: at(now - DAY_MS), to_timestamp: at(now + (LONGEST_DAYS + 4) * DAY_MS) }
  return { window, random, sent: [], erased: new Map(), exports: new Map(), days: 0 }
}

/** Moves the clock of the sandbox. */
const jump = ({ pool }: Installation, interval: string) =>
  pool.query(`update environments set clock_offset = clock_offset + $1::interval where kind = 'sandbox'`, [interval])

/** All files of now expire; false when the windows of the exports would end before. */
export async function expireFiles(installation: Installation, load: FilesLoad): Promise<boolean> {
  if (load.days + 8 > LONGEST_DAYS / 2) return false
  load.days += 8
  await jump(installation, '8 days')
  return true
}

/** The attempts that wait for their time are made now. */
export const passAnHour = (installation: Installation): Promise<unknown> => jump(installation, '1 hour')

/** Posts events of new people, asks for an export of all events, and now and then erases a person or downloads a file. */
export async function moreFiles({ sandbox }: Installation, load: FilesLoad): Promise<void> {
  const { random, sent, erased, exports, window } = load
  const events = Array.from({ length: EVENTS_PER_ROUND }, (_, i) => {
    const person = `file-person-${exports.size}-${i % PEOPLE_PER_ROUND}`
    const transaction = `file-${sent.length + i}`
    return { person, transaction }
  })
  const items = events.map(({ person, transaction }) => item({ identity_id: person, transaction: { transaction_id: transaction } }))
  const posted = await sandbox('POST', '/v4/events', { body: { events: items } })
  expect(posted.body, posted.text).toMatchObject({ created: EVENTS_PER_ROUND })
  sent.push(...events)
  const requested = await sandbox('POST', '/v4/exports', { body: { ...window, ...oneOf(FORMATS, random) } })
  expect(requested.status, requested.text).toBe(202)
  exports.set(requested.body.id, sent.length)
  if (random() * ERASURES < 1) {
    const { person } = oneOf(sent, random)
    if (!erased.has(person)) {
      const { user_id } = (await sandbox('GET', `/v4/identities/${person}`)).body
      expect((await sandbox('DELETE', `/v4/customers/${user_id}`)).status).toBe(204)
      erased.set(person, user_id)
    }
  }
  if (random() * DOWNLOADS < 1) await download(sandbox, oneOf([...exports.keys()], random))
}

/** A download that succeeds is whole: its bytes are those that its tag names. */
async function download(sandbox: Client, id: string): Promise<void> {
  const { body } = await sandbox('GET', `/v4/exports/${id}`)
  if (!body.file_url) return
  const response = await fetch(body.file_url)
  // The storage is away, or the file has expired meanwhile.
  if (response.status !== 200) return expect([404, 502]).toContain(response.status)
  const bytes = await response.arrayBuffer().catch(() => null)
  // Broken off: the storage went away, or an erasure has replaced the file.
  if (bytes === null) return
  expect(`"${sha256(Buffer.from(bytes))}"`).toBe(response.headers.get('etag'))
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

const countOf = async ({ pool }: Installation, query: string): Promise<number> => (await pool.query(query)).rowCount ?? 0

/** Moves the clock on until the query finds no row. */
const passUntilNone = (installation: Installation, what: string, query: string, interval: string) =>
  until(
    what,
    async () => {
      if ((await countOf(installation, query)) === 0) return true
      await jump(installation, interval)
      await delay(300)
      return undefined
    },
    120_000,
  ).catch(async error => {
    throw new Error(`${error.message}: ${JSON.stringify((await installation.pool.query(query)).rows.slice(0, 5))}`)
  })

/** `exports` to `failed`. */
export type FilesSeen = { exports: number; failed: number; checked: number; erased: number; failedRuns: number }

/** Waits until all exports and erasures have ended, checks each file, lets all of them expire, and checks that nothing is left. */
export async function expectFilesAsPromised(installation: Installation, load: FilesLoad): Promise<FilesSeen> {
  const { sandbox, pool, files } = installation
  const { sent, erased, exports } = load
  await moreFiles(installation, load)
  const unfinished = `select * from runs r left join due d on d.kind = r.job_kind and d.id = r.id
    where r.workflow in ('export', 'erase-export') and r.finished_at is null`
  await passUntilNone(installation, 'every export and erasure has ended', unfinished, '10 minutes')
  const seen: FilesSeen = { exports: exports.size, failed: 0, checked: 0, erased: erased.size, failedRuns: 0 }
  for (const [id, upTo] of exports) {
    const { body } = await sandbox('GET', `/v4/exports/${id}`)
    expect(['done', 'failed'], JSON.stringify(body)).toContain(body.status)
    if (body.status === 'failed') {
      seen.failed++
      expect([body.error.code, body.file_url]).toEqual(['storage_error', null])
    } else if (body.file_url) {
      seen.checked++
      const response = await fetch(body.file_url)
      const bytes = Buffer.from(await response.arrayBuffer())
      expect([response.status, sha256(bytes), bytes.length]).toEqual([200, body.manifest.sha256, body.manifest.bytes])
      const found = await transactionsIn(body.format, body.compression === 'gzip' ? gunzipSync(bytes) : bytes)
      const wanted = sent.slice(0, upTo).flatMap(({ transaction, person }) => (erased.has(person) ? [] : [transaction]))
      expect(found.sort()).toEqual(wanted.sort())
      expect(body.manifest.rows).toBe(wanted.length)
    }
  }
  expect(seen.checked).toBeGreaterThan(0)
  for (const user of erased.values()) expect([await filesWith(files, user), await tracesOf(pool, user)]).toEqual([[], []])
  expect(await countOf(installation, `select 1 from runs where workflow = 'export' group by subject having count(*) > 1`)).toBe(0)
  const failedRuns = await pool.query<{ reason: string }>(`select reason from runs where status = 'failed'`)
  for (const { reason } of failedRuns.rows) expect(reason).toMatch(/the export files are not in|ENOENT|is not stored as it was written/)
  seen.failedRuns = failedRuns.rows.length

  await jump(installation, '8 days')
  await passUntilNone(installation, 'every file is removed', 'select * from exports where file_removed_at is null', '10 minutes')
  expect(await storedFiles(files)).toEqual([])
  expect(await countOf(installation, 'select 1 from exports where overdue_since is not null')).toBe(0)
  await passUntilNone(installation, 'every record is removed', 'select * from exports', '10 days')
  const jobs = `select * from due where kind in ('export', 'export-retention', 'erase-export')`
  await passUntilNone(installation, 'no job is left', jobs, '1 hour')
  const { body: ledger } = await sandbox('GET', `/v4/ledger?from=${load.window.from_timestamp}&to=${load.window.to_timestamp}`)
  const line = ledger.data.find(({ kind }: { kind: string }) => kind === 'exports')
  expect([line.promised, line.kept, line.outstanding]).toEqual([seen.exports, seen.exports - seen.failed, 0])
  return seen
}
