import { USER_HEADER } from '../../domain/reporting/exports/columns.ts'
import type { ExportFormat, ExportType } from '../../domain/reporting/exports/export.ts'
import { exportColumnsOf, USER_KEY, unguarded } from '../../domain/reporting/exports/statement.ts'

export type Filter = {
  format: ExportFormat
  /** The part begins the file: csv has its header there, json its bracket. */
  isFirst: boolean
  /** A row was kept in an earlier part: in json a comma comes first. */
  isContinued: boolean
  isErased: (row: Buffer) => boolean
}

/** `isChanged`: the kept rows differ from the part. */
export type Count = { kept: number; erased: number; isChanged: boolean }

const [LF, QUOTE, COMMA, OPEN, CLOSE] = [10, 34, 44, 91, 93]

/** The end of the row that begins at `from`, its line feed included; -1 when the rest is not read yet. */
function csvEnd(text: Buffer, from: number): number {
  let at = from
  for (;;) {
    const end = text.indexOf(LF, at)
    if (end === -1) return -1
    // A line feed between quotes is text. Doubled quotes count twice and do not change the result.
    const row = text.subarray(from, end)
    let quotes = 0
    for (let i = row.indexOf(QUOTE); i !== -1; i = row.indexOf(QUOTE, i + 1)) quotes++
    if (quotes % 2 === 0) return end + 1
    at = end + 1
  }
}

const lineEnd = (text: Buffer, from: number): number => text.indexOf(LF, from) + 1 || -1

/** The kept rows of one part, byte for byte. Header and brackets are kept, too. */
export async function* keptRows(source: AsyncIterable<Buffer>, filter: Filter, count: Count): AsyncGenerator<Buffer> {
  const { format, isContinued, isErased } = filter
  const endOf = format === 'csv' ? csvEnd : lineEnd
  let rest: Buffer = Buffer.alloc(0)
  let isHeader = filter.isFirst && format === 'csv'
  for await (const chunk of source) {
    const text = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let at = 0
    // The bytes from here on are not yielded yet.
    let from = 0
    for (let end = endOf(text, at); end !== -1; at = end, end = endOf(text, at)) {
      if (isHeader || (format === 'json' && isBracket(text, at))) {
        isHeader = false
        continue
      }
      const begin = format === 'json' && text[at] === OPEN ? at + 1 : at
      if (isErased(text.subarray(begin, end))) {
        count.erased++
        count.isChanged = true
        if (begin > from) yield text.subarray(from, begin)
        from = end
      } else if (count.kept++ === 0 && !isContinued && format === 'json' && text[at] === COMMA) {
        // All rows before this one are erased, so its comma is removed.
        count.isChanged = true
        if (at > from) yield text.subarray(from, at)
        from = at + 1
      }
    }
    if (at > from) yield text.subarray(from, at)
    rest = text.subarray(at)
  }
  // The bracket of a part without rows.
  if (rest.length > 0) yield rest
}

/** `]` or `[]`: the end of the array. */
const isBracket = (text: Buffer, at: number) => text[at] === CLOSE || (text[at] === OPEN && text[at + 1] === CLOSE)

/** A function that finds the user's id in a row of the file; null: the row has no user. */
export function userOfRow(format: ExportFormat, type: ExportType, isGuarded = false): (row: Buffer) => string | null {
  if (format === 'csv') {
    const column = exportColumnsOf({ type }).findIndex(({ header }) => header === USER_HEADER)
    return row => {
      const text = csvField(row, column)
      return isGuarded && text !== null ? unguarded(text) : text
    }
  }
  // Within a text a quote follows a backslash, so this is a key. A user's property of that name comes after all columns.
  const key = `"${USER_KEY}":`
  return row => {
    const at = row.indexOf(key)
    const begin = at + key.length
    if (at === -1 || row[begin] !== QUOTE) return null
    let end = row.indexOf(QUOTE, begin + 1)
    while (isEscaped(row, end)) end = row.indexOf(QUOTE, end + 1)
    return JSON.parse(row.toString('utf8', begin, end + 1))
  }
}

const BACKSLASH = 92
function isEscaped(row: Buffer, at: number): boolean {
  let slashes = 0
  while (row[at - 1 - slashes] === BACKSLASH) slashes++
  return slashes % 2 === 1
}

function csvField(row: Buffer, column: number): string | null {
  let at = 0
  for (let n = 0; ; n++) {
    const isQuoted = row[at] === QUOTE
    let end = at
    for (let quoted = false; quoted || (row[end] !== COMMA && row[end] !== LF); end++) {
      if (end >= row.length) return null
      if (row[end] === QUOTE) quoted = !quoted
    }
    if (n === column) {
      const text = isQuoted ? row.toString('utf8', at + 1, end - 1).replaceAll('""', '"') : row.toString('utf8', at, end)
      return text === '' ? null : text
    }
    if (row[end] !== COMMA) return null
    at = end + 1
  }
}
