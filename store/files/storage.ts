import type { Readable } from 'node:stream'

/** Names of files and of parts. */
export const NAME: RegExp = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/

export type Section = { name: string; bytes: number }
/** Bytes of the whole file, both inclusive, as in an HTTP range. */
export type Range = { start: number; end: number }

/** Places on the local disk for a program that works on files: what it reads, what it makes, and a folder for what it needs meanwhile. */
export type Workplace = { sources: string[]; target: string; spill: string }

/**
 * Where finished files live. A file is made of parts written one by one; nothing is a file before its maker has recorded which
 * parts belong to it, so left-overs of a crashed maker are only garbage.
 */
export type FileStorage = {
  /** Durable when it resolves. Overwrites a part of the same name. */
  writePart(file: string, name: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<{ bytes: number }>
  /**
   * A part that `make` puts together from the parts `from`, both as files of the local disk; durable as with writePart. It has its
   * name only when it is whole. Whatever a crash leaves behind goes with keepOnly and remove.
   */
  composePart(file: string, name: string, from: string[], make: (at: Workplace) => Promise<void>): Promise<{ bytes: number }>
  /** The parts one after the other, as one stream. Rejects when the first of them cannot be read. */
  read(file: string, parts: Section[], range?: Range): Promise<Readable>
  /** The parts that are there: name -> bytes. */
  sizes(file: string): Promise<Map<string, number>>
  /** Removes parts that are not among `names`. */
  keepOnly(file: string, names: string[]): Promise<void>
  /** Removes those of the parts that are there, finished or not, that `garbage` picks. */
  prune(file: string, garbage: (names: string[]) => Promise<string[]>): Promise<void>
  remove(file: string): Promise<void>
}
