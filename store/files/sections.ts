import { Readable } from 'node:stream'
import type { ByteRange, Section } from './storage.ts'

/** Opens the content of a part from `start` to `end`, both inclusive. */
type Open = (name: string, start: number, end: number) => AsyncIterable<Uint8Array>

/** One stream of the parts, one after the other. Rejects when the first piece cannot be read. */
export async function readSections(parts: Section[], range: ByteRange | undefined, open: Open): Promise<Readable> {
  const pieces = sections(parts, range, open)
  let first: IteratorResult<Uint8Array> | undefined = await pieces.next()
  const rest: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => rest,
    async next() {
      const piece = first ?? (await pieces.next())
      first = undefined
      return piece
    },
    return: () => pieces.return(undefined),
  }
  return Readable.from(rest, { objectMode: false })
}

async function* sections(parts: Section[], range: ByteRange | undefined, open: Open): AsyncGenerator<Uint8Array> {
  const { start, end } = range ?? { start: 0, end: Number.POSITIVE_INFINITY }
  let at = 0
  for (const { name, bytes } of parts) {
    const from = Math.max(start - at, 0)
    const to = Math.min(end - at, bytes - 1)
    if (from <= to) yield* open(name, from, to)
    at += bytes
  }
}
