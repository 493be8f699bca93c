import { type FileHandle, open } from 'node:fs/promises'
import type { Rejection } from './batches.ts'

export type Rejects = {
  /** Appends the rejections; resolves to the length of the file. */
  add(rejections: Rejection[]): Promise<number>
  close(): Promise<void>
}

const quoted = (value: string) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)
const line = (values: string[]) => `${values.map(quoted).join(',')}\n`

/**
 * The CSV of rejected rows: row, field, reason, then the row itself. Continues after the first `from` bytes, so the rows of a repeated batch
 * are not written twice. The file appears with the first rejection.
 */
export function rejectsFile(path: string, columns: string[], from: number): Rejects {
  let handle: FileHandle | undefined
  let bytes = 0

  async function opened(): Promise<FileHandle> {
    if (handle) return handle
    handle = await open(path, from > 0 ? 'r+' : 'w', 0o600).catch(error => {
      if (error.code !== 'ENOENT') throw error
      return open(path, 'w', 0o600)
    })
    bytes = Math.min((await handle.stat()).size, from)
    await handle.truncate(bytes)
    if (bytes === 0) await append(handle, line(['row', 'field', 'reason', ...columns]))
    return handle
  }

  async function append(handle: FileHandle, text: string): Promise<void> {
    const content = Buffer.from(text)
    for (let written = 0; written < content.length; )
      written += (await handle.write(content, written, content.length - written, bytes + written)).bytesWritten
    bytes += content.length
  }

  return {
    async add(rejections) {
      if (rejections.length === 0) return handle ? bytes : from
      await append(await opened(), rejections.map(({ row, field, reason }) => line([String(row.n), field, reason, ...row.values])).join(''))
      return bytes
    },
    close: async () => handle?.close(),
  }
}
