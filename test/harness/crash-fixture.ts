import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect } from 'vitest'
import type { Pool } from '../../store/connect.ts'
import { type Client, client } from './client.ts'
import { type FreshDatabase, freshDatabase } from './database.ts'
import { item } from './events.ts'
import { finished } from './exports.ts'
import { readParquet } from './parquet.ts'
import { run } from './process.ts'

const KEY = `sk_${'k'.repeat(40)}`

/** A database with events, an API process on it, and the configuration of the workers that the test kills. */
export type CrashFixture = {
  database: FreshDatabase
  folder: string
  call: Client
  env(role: string): Record<string, string>
  end(): Promise<void>
}

export type CrashFixtureOptions = { events: number; perBatch: number; people: number; partRows: number; more?: Record<string, string> }

/** Stores events of `people` users in turn, with transaction ids t0, t1, …; leases of a second. `more`: configuration of the processes. */
export async function crashFixture({ events, perBatch, people, partRows, more = {} }: CrashFixtureOptions): Promise<CrashFixture> {
  const database = await freshDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'perennial-crash-'))
  const env = (role: string) => ({
    DATABASE_URL: database.url,
    APP_SECRET: 'a secret for tests only, long enough',
    BOOTSTRAP_SECRET_KEY: KEY,
    DATA_DIR: folder,
    ROLE: role,
    PORT: '0',
    LEASE_SECONDS: '1',
    EXPORT_PART_ROWS: String(partRows),
    LOG_LEVEL: 'warn',
    ...more,
  })
  const api = await run({ env: env('api') })
  const call = client(api.url, KEY)
  for (let i = 0; i < events; i += perBatch) {
    const batch = Array.from({ length: perBatch }, (_, n) =>
      item({ identity_id: `u${n % people}`, transaction: { transaction_id: `t${i + n}` } }),
    )
    const { body } = await call('POST', '/v4/events', { body: { events: batch } })
    if (body.created !== perBatch) throw new Error(`${body.created} of ${perBatch} events were stored`)
  }
  return {
    database,
    folder,
    call,
    env,
    async end() {
      await api.end()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Ends the leases of dead workers now. By themselves they end within three seconds: three leases is what a worker has on a batch. Only
 * for when no worker is alive: a live one would lose its leases, too.
 */
export const endLeases = (pool: Pool): Promise<unknown> =>
  pool.query('update due set lease_until = clock_timestamp() where lease_until > clock_timestamp()')

/** The transaction ids of an exported file, in its order. */
export const transactionsIn = async (format: string, bytes: Buffer): Promise<unknown[]> =>
  format === 'parquet'
    ? (await readParquet(bytes)).rows.map(row => row.transaction_id)
    : (parse(bytes, { columns: true }) as Record<string, string>[]).map(row => row['Transaction ID'])

/** How many parts of an export are recorded. */
export const partsOf = async (pool: Pool, id: string): Promise<number> =>
  (
    await pool.query(`select count(*)::int as n from steps s join runs r on r.id = s.run where r.subject = $1 and s.name like 'part-%'`, [
      id,
    ])
  ).rows[0].n

/** Waits for the end of the export: every event is in its file, once. */
export async function expectWhole({ call }: CrashFixture, id: string, events: number): Promise<void> {
  const object = await finished(call, id, undefined, 60_000)
  expect(object).toMatchObject({ status: 'done', rows_written: events, error: null })
  const bytes = Buffer.from(await (await fetch(object.file_url)).arrayBuffer())
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(object.manifest.sha256)
  const ids = await transactionsIn(object.format, bytes)
  expect([ids.length, new Set(ids).size]).toEqual([events, events])
}
