import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { importRates, type RateLine } from '../../domain/purchases/rates/import.ts'
import type { CommandContext } from '../command.ts'
import { withDatabase } from '../database.ts'
import { action } from '../definition.ts'
import { CliError, UsageError } from '../failure.ts'
import { counted } from '../import/progress.ts'
import { commandOf } from '../program.ts'
import { printable } from '../table.ts'
import { readLines } from './lines.ts'

/** At most this many bad lines are listed. */
const SHOWN = 100
const DAY_MS = 86_400_000

/**
 * Stores rates of exchange: all of a file or nothing. The file is read twice, so that bad lines are reported without a database, and that the
 * database may ask for them again.
 */
async function importGiven(given: string | undefined, context: CommandContext): Promise<number> {
  if (given === undefined) throw new UsageError('one file is needed: FILE, or - for standard input')
  if (given !== '-') return importFile(given, given, context)
  const folder = await mkdtemp(join(tmpdir(), 'perennial-rates-'))
  try {
    const path = join(folder, 'rates.csv')
    await pipeline(context.stdin(), createWriteStream(path, { mode: 0o600 }), { signal: context.signal })
    return await importFile(path, 'standard input', context)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export const ratesAction = action({
  name: 'rates',
  summary: 'store rates of exchange: all of a file or nothing',
  arguments: [{ name: 'FILE', says: 'a CSV file, - for standard input' }],
  details:
    "The file has the columns date,currency,usd_per_unit, or is the European Central Bank's eurofxref-hist.csv. The same rates may come again.",
  exits: '0 done, 1 failed, 2 some lines are bad and no rate is stored',
  examples: ['rates rates.csv', 'rates - <eurofxref-hist.csv'],
  run: ({ args: [given] }, context) => importGiven(given, context),
})

export const rates = commandOf(ratesAction)

async function importFile(path: string, name: string, context: CommandContext): Promise<number> {
  // The day has begun in the first time zones before it begins in UTC.
  const latest = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
  const listing = badLines(context)
  for await (const line of readLines(path, latest, unknown => context.note(leftOut(unknown)))) {
    if (context.signal.aborted) throw new CliError('stopped: no rate is stored')
    if ('fault' in line) listing.add(line.line, line.fault)
  }
  if (listing.count() > 0) return listing.end()
  const imported = await withDatabase(context, pool => importRates(pool, () => ratesOf(path, latest, context.signal)))
  switch (imported.is) {
    case 'imported': {
      const { rates, added, changed } = imported
      context.out(
        `${name}: ${counted(rates)} rates: ${counted(added)} added, ${counted(changed)} changed, ${counted(rates - added - changed)} there already.`,
      )
      return 0
    }
    case 'contradictory':
      for (const { line, other, currency, date } of imported.lines)
        listing.add(line, `gives ${currency} another rate on ${date} than line ${other}`)
      return listing.end()
    default:
      return imported satisfies never
  }
}

const leftOut = (currencies: string[]) => `left out, because no transaction has these currencies: ${currencies.join(', ')}`

async function* ratesOf(path: string, latest: string, signal: AbortSignal): AsyncGenerator<RateLine> {
  for await (const read of readLines(path, latest)) {
    if (signal.aborted) throw new CliError('stopped: no rate is stored')
    if ('fault' in read) throw new CliError(`${path} was changed while it was read: no rate is stored`)
    for (const rate of read.rates) yield { line: read.line, rate }
  }
}

function badLines({ note }: CommandContext) {
  let count = 0
  return {
    count: () => count,
    add(line: number, fault: string) {
      if (++count <= SHOWN) note(printable(`line ${line}: ${fault}`))
    },
    /** The exit code. */
    end(): number {
      if (count > SHOWN) note(`… and ${counted(count - SHOWN)} more`)
      note(`${counted(count)} bad ${count === 1 ? 'line' : 'lines'}: no rate is stored`)
      return 2
    },
  }
}
