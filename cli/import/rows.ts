import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { CsvError, type Options, parse } from 'csv-parse'
import { CliError, codeOf } from '../failure.ts'

/** `n`: the number of the data row, from 1. `end`: the offset of the byte after the row. */
export type Row = { n: number; values: string[]; end: number }
export type Header = { columns: string[]; end: number }
/** Identifies a file and its version. */
export type FileIdentity = { path: string; size: number; modified: number }

/** The limit of a record: a quote that is never closed must not bring the rest of the file into memory. */
const MAX_RECORD = 4 * 1024 * 1024

const OPTIONS: Options = {
  info: true,
  skip_empty_lines: true,
  relax_column_count: true,
  max_record_size: MAX_RECORD,
  // Given, not detected: a part of the file must be read in the same way as the whole file.
  record_delimiter: ['\r\n', '\n', '\r'],
}

const unreadable = (path: string, error: unknown): CliError => new CliError(`${path} cannot be read: ${(error as Error).message}`)

export async function identify(path: string): Promise<FileIdentity> {
  const handle = await open(path, 'r').catch(error => {
    throw unreadable(path, error)
  })
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new CliError(`${path} is not a regular file: an import must be able to read it again`)
    const mark = (await handle.read(new Uint8Array(2), 0, 2, 0)).buffer
    if ((mark[0] === 0xff && mark[1] === 0xfe) || (mark[0] === 0xfe && mark[1] === 0xff))
      throw new CliError(`${path} is UTF-16: save it as UTF-8`)
    return { path, size: stat.size, modified: stat.mtimeMs }
  } finally {
    await handle.close()
  }
}

async function* records(path: string, delimiter: string, start: number): AsyncGenerator<{ values: string[]; end: number }> {
  const source = createReadStream(path, { start, highWaterMark: 256 * 1024 })
  const parser = parse({ ...OPTIONS, delimiter, bom: start === 0 })
  source.on('error', error => parser.destroy(error))
  source.pipe(parser)
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { bytes: number } }>)
      yield { values: record, end: start + info.bytes }
  } finally {
    source.destroy()
    parser.destroy()
  }
}

export async function readHeader(path: string, delimiter: string): Promise<Header> {
  try {
    for await (const { values, end } of records(path, delimiter, 0)) return { columns: values, end }
  } catch (error) {
    throw broken(path, 'its header', error)
  }
  throw new CliError(`${path} is empty: its first line must name the columns`)
}

/** The rows after row `from.n`, which ends at byte `from.end`. */
export async function* readRows(path: string, delimiter: string, from: { n: number; end: number }): AsyncGenerator<Row> {
  let { n } = from
  try {
    for await (const { values, end } of records(path, delimiter, from.end)) yield { n: ++n, values, end }
  } catch (error) {
    throw broken(path, `row ${n + 1}`, error)
  }
}

function broken(path: string, where: string, error: unknown): unknown {
  if (codeOf(error) === 'CSV_MAX_RECORD_SIZE')
    return new CliError(`${path}: ${where} is longer than ${MAX_RECORD} bytes: is a quote not closed?`)
  if (error instanceof CsvError) return new CliError(`${path}: ${where} is not valid CSV: ${(error as Error).message}`)
  return codeOf(error) === '' ? error : unreadable(path, error)
}
