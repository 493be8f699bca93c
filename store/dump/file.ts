import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'

/** sha256: of the bytes on the disk, in hex. */
export type FileFacts = { bytes: number; sha256: string }

/** Writes a new file with mode 0600. The file is synced to the disk when the promise resolves. */
export async function writeNew(path: string, content: AsyncIterable<Uint8Array>): Promise<FileFacts> {
  const hash = createHash('sha256')
  const handle = await open(path, 'wx', 0o600)
  try {
    let bytes = 0
    for await (const chunk of content) {
      hash.update(chunk)
      for (let rest = chunk; rest.length > 0; ) rest = rest.subarray((await handle.write(rest)).bytesWritten)
      bytes += chunk.length
    }
    await handle.sync()
    return { bytes, sha256: hash.digest('hex') }
  } finally {
    await handle.close()
  }
}

export async function factsOf(path: string, signal: AbortSignal, onBytes?: (bytes: number) => void): Promise<FileFacts> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    signal.throwIfAborted()
    hash.update(chunk)
    bytes += chunk.length
    onBytes?.(chunk.length)
  }
  return { bytes, sha256: hash.digest('hex') }
}
