import type { ReportDelivery } from './report-destination.ts'

/** What another failure of the upload is told from: our own storage. */
export class FileUnreadable extends Error {}

/** Slow enough for a thin line, and an end for a receiver that never comes to one. */
const SLOWEST_BYTES_PER_MS = 128
const SPARE_MS = 60_000

export const limitFor = ({ bytes }: { bytes: number }): number => SPARE_MS + Math.ceil(bytes / SLOWEST_BYTES_PER_MS)

/** The bytes of the file; throws `FileUnreadable` where they end too early or too late: a part of a file must not pass for all of it. */
export async function* wholeFile({ bytes, openFile }: ReportDelivery['export']): AsyncGenerator<Uint8Array> {
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
