import type { Readable } from 'node:stream'

/** The names of files and of parts. */
export const NAME: RegExp = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/

export type Section = { name: string; bytes: number }
/** Byte offsets in the whole file, both inclusive, as in an HTTP range. */
export type ByteRange = { start: number; end: number }

/** Paths on the local disk for a program that works on files: the files that it reads, the file that it writes, and a folder for temporary data. */
export type Workplace = { sources: string[]; target: string; spill: string }

/**
 * The storage of finished files. A file consists of parts, which are written one by one. The parts are a file once the writer has recorded
 * which parts belong to it, so parts that a crashed writer left are only garbage.
 */
export type FileStorage = {
  /** The part is durable when the promise resolves. Overwrites a part of the same name. */
  writePart(file: string, name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<{ bytes: number }>
  /**
   * Writes a part that `make` composes from the parts `from`, all as files on the local disk; durable as with writePart. The part gets its
   * name when it is complete. keepOnly and remove delete what a crash leaves.
   */
  composePart(file: string, name: string, from: string[], make: (at: Workplace) => Promise<void>): Promise<{ bytes: number }>
  /** One stream of the parts, one after the other. Rejects when the first part cannot be read. */
  read(file: string, parts: Section[], range?: ByteRange): Promise<Readable>
  /** The stored parts: name -> bytes. */
  sizes(file: string): Promise<Map<string, number>>
  /** Removes parts that are not among `names`. */
  keepOnly(file: string, names: string[]): Promise<void>
  /** Passes the names of all parts, finished or not, to `garbage`, and removes the parts that it returns. */
  prune(file: string, garbage: (names: string[]) => Promise<string[]>): Promise<void>
  remove(file: string): Promise<void>
}
