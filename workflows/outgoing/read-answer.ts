import type { Readable } from 'node:stream'

const READ_BYTES = 64 * 1024

/** The first 64 KiB of a body as text. A longer one is not read to its end: its connection is thrown away, for it may have no end. */
export async function readAnswer(body: Readable): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop destroys the stream, and with it the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= READ_BYTES) break
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, READ_BYTES))
}
