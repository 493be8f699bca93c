import type { ReportDelivery } from './report-destination.ts'

/** Distinguishes a failure of our own storage from a failure of the upload. */
export class FileUnreadable extends Error {}

/** Slow enough for a slow connection, and still a limit for a receiver that never finishes. */
const SLOWEST_BYTES_PER_MS = 128
const SPARE_MS = 60_000

export const uploadLimitMs = ({ bytes }: { bytes: number }): number => SPARE_MS + Math.ceil(bytes / SLOWEST_BYTES_PER_MS)

/** The bytes of the file. Throws `FileUnreadable` where the file is too short or too long, so that a part of a file never counts as the whole. */
export async function* readWholeFile({ bytes, openFile }: ReportDelivery['export']): AsyncGenerator<Uint8Array> {
  let read = 0
  try {
    for await (const chunk of await openFile()) {
      read += (chunk as Uint8Array).length
      yield chunk as Uint8Array
    }
  } catch (error) {
    throw new FileUnreadable('the file of the report cannot be read', { cause: error })
  }
  if (read !== bytes) throw new FileUnreadable(`the file of the report has ${read} bytes, not ${bytes}`)
}

/** The same bytes in slices of `size`. The last one is shorter, and empty if there are no bytes. Little more than one slice is in memory. */
export async function* slicesOf(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<{ slice: Uint8Array; isLast: boolean }> {
  let pending: Uint8Array[] = []
  let length = 0
  for await (const chunk of content) {
    pending.push(chunk)
    length += chunk.length
    // A full slice waits for the next byte, which shows that the slice is not the last one.
    while (length > size) {
      const all = Buffer.concat(pending)
      yield { slice: all.subarray(0, size), isLast: false }
      pending = [all.subarray(size)]
      length -= size
    }
  }
  yield { slice: Buffer.concat(pending), isLast: true }
}
