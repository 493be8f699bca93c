import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { audit } from '../../domain/kernel/audit/record.ts'
import { eraseCustomer } from '../../domain/oversight/erasure/erase-customer.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET } from './api.ts'
import { readParquet } from './parquet.ts'
import { until } from './until.ts'

/** Requests an erasure as `v4DeleteCustomer` does. */
export const eraseUser = (pool: Pool, environment: number, id: string): Promise<void> =>
  transaction(pool, async tx => {
    const { rows } = await tx.query<{ project: number }>('select project from environments where id = $1', [environment])
    const actor = { kind: 'system', id: null } as const
    const pseudonym = await eraseCustomer(tx, environment, id, secretsFrom(APP_SECRET))
    const trail = { project: rows[0]!.project, environment, actor, operation: 'v4DeleteCustomer', requestId: null }
    await audit(tx, trail, { resource: 'customer', id: pseudonym, user: pseudonym })
  })

export const erasuresEnded = (pool: Pool, ms = 60_000): Promise<true> =>
  until(
    'all erasures have ended',
    async () => {
      const { rowCount } = await pool.query(`select 1 from runs where workflow = 'erase-export' and finished_at is null limit 1`)
      return rowCount === 0 || undefined
    },
    ms,
  )

/** The files below the folder that contain the text, in the decompressed content, too. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const found: string[] = []
  for (const entry of entries.filter(each => each.isFile())) {
    const path = join(entry.parentPath, entry.name)
    if ((await unpacked(await readFile(path))).includes(text)) found.push(path)
  }
  return found
}

async function unpacked(bytes: Buffer): Promise<string> {
  if (bytes.subarray(0, 4).toString() === 'PAR1') return JSON.stringify((await readParquet(bytes)).rows) + bytes.toString('latin1')
  return (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString('latin1')
}
