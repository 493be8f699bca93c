import { open } from 'node:fs/promises'

/** The file ends with the footer, the length of the footer in four bytes, and `PAR1`. */
const TAIL_BYTES = 8
/** The footer begins with the descriptions of the columns, some 30 bytes each. */
const HEAD_BYTES = 16 * 1024

/**
 * The logical type TIMESTAMP(isAdjustedToUTC = false, unit = MILLIS) in the footer, in Thrift's compact protocol: LogicalType
 * field 8 {field 1 false, field 2 {field 1 {}}} and the four end bytes. https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 */
const LOCAL_MILLIS = Buffer.from([0x8c, 0x12, 0x1c, 0x1c, 0, 0, 0, 0])
/** `field 1 true` in place of `field 1 false`. */
const UTC = Buffer.from([0x11])

/**
 * Marks the time columns of the file, all with milliseconds, as UTC. DuckDB has times of UTC with microseconds only and writes times with
 * milliseconds as local times. Throws when the file does not have as many such columns: another version of DuckDB writes another format.
 */
export async function markTimesAsUtc(path: string, columns: number): Promise<void> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    const tail = (await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, size - TAIL_BYTES)).buffer
    const length = tail.readUInt32LE(0)
    const start = size - TAIL_BYTES - length
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, Math.min(length, HEAD_BYTES), start)
    const head = buffer.subarray(0, bytesRead)
    for (let n = 0, at = 0; n < columns; n++) {
      at = head.indexOf(LOCAL_MILLIS, at)
      if (at === -1) throw new Error(`the Parquet file describes ${n} columns of local milliseconds, not ${columns}`)
      await file.write(UTC, 0, 1, start + at + 1)
      at += LOCAL_MILLIS.length
    }
  } finally {
    await file.close()
  }
}
