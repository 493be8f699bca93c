import type { RowFault, ToItem } from './item.ts'
import type { Row } from './rows.ts'

export type Rejection = RowFault & { row: Row }
/** `items`: to be posted. `bad`: already rejected. `last`, `end`: the last row of the batch and the byte after it. */
export type ImportBatch = { items: { row: Row; json: string }[]; bad: Rejection[]; last: number; end: number }

/** The service accepts 8 MiB. 1 KiB remains for the text around the items. */
const MAX_BYTES: number = 8 * 1024 * 1024 - 1024

/** Groups rows into batches of at most `size` rows and `maxBytes` bytes. */
export async function* batches(
  rows: AsyncIterable<Row>,
  item: ToItem,
  size: number,
  maxBytes: number = MAX_BYTES,
): AsyncGenerator<ImportBatch> {
  let batch: ImportBatch = { items: [], bad: [], last: 0, end: 0 }
  let bytes = 0
  const begin = () => {
    batch = { items: [], bad: [], last: 0, end: 0 }
    bytes = 0
  }
  for await (const row of rows) {
    const made = item(row.values, row.n)
    const length = made.is === 'item' ? Buffer.byteLength(made.json) + 1 : 0
    if (bytes + length > maxBytes && batch.last > 0) {
      yield batch
      begin()
    }
    if (made.is === 'fault') batch.bad.push({ row, field: made.field, reason: made.reason })
    else if (length > maxBytes) batch.bad.push({ row, field: '', reason: 'is too large for a request' })
    else {
      batch.items.push({ row, json: made.json })
      bytes += length
    }
    batch.last = row.n
    batch.end = row.end
    if (batch.items.length + batch.bad.length >= size) {
      yield batch
      begin()
    }
  }
  if (batch.last > 0) yield batch
}
