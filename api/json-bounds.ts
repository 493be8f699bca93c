import type { Detail } from '../domain/kernel/refusal.ts'

/** Levels of nesting; a key needs a level, too. */
const MAX_DEPTH = 64
/** The most keys of one object: an object with many different keys takes a hundred times as long to parse as the same keys in small objects. */
const MOST_OF_AN_OBJECT = 5_000

/** Bounds of a body: the time of parsing and validation depends on them, and hardly on the bytes. */
export type JsonBounds = { keys: number; values: number }

/** For bodies of 1 MiB, and for larger ones: a thousand events of 25 fields and 100 properties each. */
export const boundsOf = (limit: number): JsonBounds =>
  limit <= 1024 * 1024 ? { keys: 20_000, values: 50_000 } : { keys: 150_000, values: 200_000 }

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPENS_LIST, CLOSES_LIST, OPENS_OBJECT, CLOSES_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Counts levels, keys and values in the bytes of JSON while they arrive, chunk by chunk. In UTF-8 no byte of another character equals one
 * of these signs. For bytes that are no JSON the counts have no meaning: parsing refuses them.
 */
export function jsonCounter({ keys: mostKeys, values: mostValues }: JsonBounds) {
  let fault: Detail | null = null
  let depth = 0
  let keys = 0
  let values = 0
  let isText = false
  let isEscaped = false
  const keysOfLevel = new Uint32Array(MAX_DEPTH + 1)
  const refuse = (message: string) => {
    fault ??= { field: 'body', message }
  }

  function open(): void {
    values++
    if (++depth > MAX_DEPTH) refuse(`is nested deeper than ${MAX_DEPTH}`)
    else keysOfLevel[depth] = 0
  }
  function countKey(): void {
    keys++
    if (++keysOfLevel[depth]! > MOST_OF_AN_OBJECT) refuse(`has an object with more than ${MOST_OF_AN_OBJECT} keys`)
  }

  return {
    /** After a fault the rest is not read. */
    read(chunk: Uint8Array): void {
      for (let i = 0; i < chunk.length && fault === null; i++) {
        const byte = chunk[i]!
        if (isText) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) isText = false
        } else if (byte === QUOTE) isText = true
        else if (byte === COMMA) values++
        else if (byte === COLON) countKey()
        else if (byte === OPENS_LIST || byte === OPENS_OBJECT) open()
        else if ((byte === CLOSES_LIST || byte === CLOSES_OBJECT) && depth > 0) depth--
      }
      if (keys > mostKeys) refuse(`has more than ${mostKeys} keys`)
      if (values > mostValues) refuse(`has more than ${mostValues} values`)
    },
    fault: (): Detail | null => fault,
    keys: (): number => keys,
  }
}
