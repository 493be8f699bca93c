import { createReadStream } from 'node:fs'
import { CsvError, parse } from 'csv-parse'
import { dayFault, type Rate, rateFault } from '../../domain/purchases/rates/rate.ts'
import { CliError, codeOf } from '../failure.ts'

/** What a line of the file gives: rates (none for a day without rates), or why it is bad. */
export type Line = { line: number; rates: Rate[] } | { line: number; fault: string }

/** The limit of a line: a file without line ends must not come into memory. */
const MAX_RECORD = 64_000

/** Reads the values of a line. `unknown`: columns of currencies that no transaction can have. */
type Form = { read: (values: string[]) => { date: string; rates: Rate[] } | string; unknown: string[] }

const PLAIN: Form = {
  unknown: [],
  read: ([date = '', currency = '', usd = '', ...more]) =>
    usd === '' || more.length > 0 ? 'must have a date, a currency and a rate' : { date, rates: [{ currency, date, usd, per: '1' }] },
}

/**
 * The reference rates of the European Central Bank: a column for each currency with its units per EUR, or N/A. The currencies that the euro
 * has replaced are not in use any more.
 */
function ofTheBank(columns: string[]): Form | undefined {
  const [date, ...currencies] = columns.at(-1) === '' ? columns.slice(0, -1) : columns
  if (date?.toLowerCase() !== 'date' || !currencies.includes('USD') || !currencies.every(name => /^[A-Z]{3}$/.test(name))) return undefined
  const unknown = currencies.filter(currency => rateFault({ currency, date: '', usd: '1', per: '1' }) !== undefined)
  const dollars = currencies.indexOf('USD')
  return {
    unknown,
    read: ([day = '', ...cells]) => {
      const usd = cells[dollars] ?? ''
      const has = (i: number) => !['', 'N/A'].includes(cells[i] ?? '')
      const present = currencies.flatMap((currency, i) =>
        has(i) && i !== dollars && !unknown.includes(currency) ? [{ currency, per: cells[i]! }] : [],
      )
      if (cells.length < currencies.length || cells.slice(currencies.length).some(cell => cell !== ''))
        return `must have ${currencies.length} rates, as its header says`
      if (!has(dollars)) return present.length === 0 ? { date: day, rates: [] } : 'has no rate of USD, by which the others are converted'
      return { date: day, rates: [{ currency: 'EUR', per: '1' }, ...present].map(rate => ({ ...rate, date: day, usd })) }
    },
  }
}

/** A value without blanks and quotes around it. */
const bare = (cell: string): string =>
  cell
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim()

function formOf(header: string[]): Form | undefined {
  const columns = header.map(bare)
  return columns.join().toLowerCase() === 'date,currency,usd_per_unit' ? PLAIN : ofTheBank(columns)
}

const HEADERS = "must be date,currency,usd_per_unit or the header of the European Central Bank's eurofxref-hist.csv"

/**
 * The lines of a file of rates, in order, with their numbers from 1. `latest`: the last day that has begun. `onUnknown` gets the columns that
 * are left out. What ends the reading is the last bad line.
 */
export async function* readLines(path: string, latest: string, onUnknown: (currencies: string[]) => void = () => {}): AsyncGenerator<Line> {
  const source = createReadStream(path, { highWaterMark: 256 * 1024 })
  const parser = parse({
    bom: true,
    // No value contains a comma or a line end, so a quote that is never closed hides no line.
    quote: false,
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAX_RECORD,
    record_delimiter: ['\r\n', '\n', '\r'],
  })
  source.on('error', error => parser.destroy(error))
  source.pipe(parser)
  let form: Form | undefined
  let last = 0
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      last = info.lines
      if (form) yield lineOf(last, form.read(record.map(bare)), latest)
      else {
        form = formOf(record)
        if (!form) return yield { line: last, fault: HEADERS }
        if (form.unknown.length > 0) onUnknown(form.unknown)
      }
    }
    if (!form) yield { line: 1, fault: HEADERS }
  } catch (error) {
    if (error instanceof CsvError)
      yield { line: last + 1, fault: `or a later one is longer than ${MAX_RECORD} bytes, and nothing after it was read` }
    else throw codeOf(error) === '' ? error : new CliError(`${path} cannot be read: ${(error as Error).message}`)
  } finally {
    source.destroy()
    parser.destroy()
  }
}

function lineOf(line: number, read: ReturnType<Form['read']>, latest: string): Line {
  if (typeof read === 'string') return { line, fault: read }
  const fault = dayFault(read.date, latest) ?? read.rates.map(rateFault).find(found => found !== undefined)
  return fault === undefined ? { line, rates: read.rates } : { line, fault }
}
