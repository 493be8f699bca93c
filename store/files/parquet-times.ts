import { open } from 'node:fs/promises'

/** At the end of the file: the footer, its length in four bytes, `PAR1`. */
const TAIL_BYTES = 8
/** The columns' descriptions come first in the footer and take some 30 bytes each. */
const HEAD_BYTES = 16 * 1024

/**
 * The logical type TIMESTAMP(isAdjustedToUTC = false, unit = MILLIS) as the footer has it, in Thrift's compact protocol: LogicalType
 * field 8 {field 1 false, field 2 {field 1 {}}} and the four ends. https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 */
const LOCAL_MILLIS = Buffer.from([0x8c, 0x12, 0x1c, 0x1c, 0, 0, 0, 0])
/** `field 1 true` in place of `field 1 false`. */
const UTC = Buffer.from([0x11])

/**
 * Marks the file's time columns, all of milliseconds, as UTC. DuckDB knows times of UTC only in microseconds and writes those of
 * milliseconds as local ones. Throws when the file does not have as many such columns: another version of DuckDB writes otherwise.
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
