import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'

const POLL_MS = 20

export type Compression = 'none' | 'gzip'
type Exported = { id: string; status: string; file_url: string; error: unknown; manifest: { rows: number; bytes: number; sha256: string } }

/** `seconds`: from the 202 to the first response with status `done`. */
export type FinishedExport = { seconds: number; id: string; fileUrl: string; rows: number; bytes: number; sha256: string }

/** Requests an export of all events between two times and waits for its file. */
export async function requestExport(api: string, key: string, compression: Compression, from: Date, to: Date): Promise<FinishedExport> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const seconds = (time: Date) => `${time.toISOString().slice(0, 19)}Z`
  const accepted = await fetch(`${api}/v4/exports`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ type: 'events', format: 'csv', compression, from_timestamp: seconds(from), to_timestamp: seconds(to) }),
  })
  const began = performance.now()
  if (accepted.status !== 202) throw new Error(`POST /v4/exports returned ${accepted.status}: ${await accepted.text()}`)
  const { id } = (await accepted.json()) as Exported
  for (;;) {
    await sleep(POLL_MS)
    const { status, file_url, error, manifest } = (await (await fetch(`${api}/v4/exports/${id}`, { headers })).json()) as Exported
    if (status === 'failed') throw new Error(`the export failed: ${JSON.stringify(error)}`)
    if (status === 'done') return { seconds: (performance.now() - began) / 1000, id, fileUrl: file_url, ...manifest }
  }
}

/** Downloads the file and compares its bytes, checksum and rows with its manifest. Throws when one differs. */
export async function verify({ fileUrl, bytes, sha256, rows }: FinishedExport, compression: Compression): Promise<void> {
  const response = await fetch(fileUrl)
  if (response.status !== 200 || !response.body) throw new Error(`the download of the file returned ${response.status}`)
  const hash = createHash('sha256')
  let fetched = 0
  let lines = 0
  const gunzip = compression === 'gzip' ? createGunzip() : undefined
  const count = (plain: Uint8Array) => {
    // The seed puts no line break into a value, so lines are rows.
    for (let at = plain.indexOf(10); at !== -1; at = plain.indexOf(10, at + 1)) lines++
  }
  gunzip?.on('data', count)
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    hash.update(chunk)
    fetched += chunk.length
    if (!gunzip) count(chunk)
    else if (!gunzip.write(chunk)) await new Promise(resolve => gunzip.once('drain', resolve))
  }
  if (gunzip) await new Promise(resolve => gunzip.end().once('end', resolve))
  const found = { bytes: fetched, sha256: hash.digest('hex'), rows: lines - 1 }
  if (found.bytes !== bytes || found.sha256 !== sha256 || found.rows !== rows)
    throw new Error(`the file differs from its manifest: ${JSON.stringify({ found, manifest: { bytes, sha256, rows } })}`)
}
