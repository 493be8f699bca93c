import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { DISK_MARK } from '../../store/files/disk-mark.ts'
import type { TestApi } from './api.ts'
import type { Answer, Client } from './client.ts'
import { until } from './until.ts'

export const WHOLE_YEAR = { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-12-31T00:00:00Z' }

/** Polls until the export has ended; fails after `ms`. */
export const finished = (call: Client, id: string, key?: string, ms = 20_000): Promise<Answer['body']> =>
  until(
    `export ${id}`,
    async () => {
      const { body } = await call('GET', `/v4/exports/${id}`, key ? { key } : {})
      return body.status === 'done' || body.status === 'failed' ? body : undefined
    },
    ms,
  )

/** The files in the storage folder, without its mark. */
export const storedFiles = async (folder: string): Promise<string[]> => (await readdir(folder)).filter(name => name !== DISK_MARK)

export type Exported = { object: Answer['body']; bytes: Buffer; sha256: string; text: string }

/** Requests an export, waits for it and downloads it. */
export async function exportAll(api: Pick<TestApi, 'call'>, body: Record<string, unknown>, key?: string): Promise<Exported> {
  const accepted = await api.call('POST', '/v4/exports', { body, ...(key && { key }) })
  if (accepted.status !== 202) throw new Error(`not accepted: ${accepted.text}`)
  const object = await finished(api.call, accepted.body.id, key)
  if (object.status !== 'done') throw new Error(`export failed: ${JSON.stringify(object.error)}`)
  const response = await fetch(object.file_url)
  const bytes = Buffer.from(await response.arrayBuffer())
  return { object, bytes, sha256: createHash('sha256').update(bytes).digest('hex'), text: bytes.toString('utf8') }
}
