import type { Fault, ToItem } from './item.ts'
import type { Row } from './rows.ts'

export type Rejection = Fault & { row: Row }
/** `items` are to be posted, `bad` are rejected already; `last` and `end` say how far the file is done with it. */
export type Batch = { items: { row: Row; json: string }[]; bad: Rejection[]; last: number; end: number }

/** The service takes 8 MiB; the rest is for what surrounds the items. */
export const MAX_BYTES: number = 8 * 1024 * 1024 - 1024

/** Groups rows so that no batch has more than `size` rows or is too large to be posted. */
export async function* batches(rows: AsyncIterable<Row>, item: ToItem, size: number, maxBytes: number = MAX_BYTES): AsyncGenerator<Batch> {
  let batch: Batch = { items: [], bad: [], last: 0, end: 0 }
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
