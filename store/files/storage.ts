import type { Readable } from 'node:stream'

export type Section = { name: string; bytes: number }
/** Bytes of the whole file, both inclusive, as in an HTTP range. */
export type Range = { start: number; end: number }

/**
 * Where finished files live. A file is made of parts written one by one; nothing is a file before its maker has recorded which
 * parts belong to it, so left-overs of a crashed maker are only garbage.
 */
export type FileStorage = {
  /** Durable when it resolves. Overwrites a part of the same name. */
  writePart(file: string, name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<{ bytes: number }>
  /** The parts one after the other, as one stream. */
  read(file: string, parts: Section[], range?: Range): Readable
  /** The parts that are there: name -> bytes. */
  sizes(file: string): Promise<Map<string, number>>
  /** Removes parts that are not among `names`. */
  keepOnly(file: string, names: string[]): Promise<void>
  remove(file: string): Promise<void>
}
