import { LOCK } from '../../../store/advisory-locks.ts'
import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { type ChangedRates, recordRateChanges } from './changes.ts'
import type { Rate } from './rate.ts'

/** A valid rate and the number of its line. */
export type RateLine = { line: number; rate: Rate }

/** Two lines give one currency different rates on one day. */
type Contradiction = { line: number; other: number; currency: string; date: string }

export type Imported = { is: 'imported'; rates: number; added: number; changed: number } | { is: 'contradictory'; lines: Contradiction[] }

/** Rates that one statement stages. */
const AT_ONCE = 5_000
/** The most contradictions that are listed. */
const SHOWN = 100

/**
 * Stores rates: all of them, or none if two of them contradict each other. A rate that is there already stays, another value overwrites it.
 * `lines` is called again if the database asks to repeat the transaction.
 */
export async function importRates(pool: Pool, lines: () => AsyncIterable<RateLine>): Promise<Imported> {
  try {
    return await transaction(pool, tx => importAll(tx, lines()), undefined, 'read committed', [LOCK.rates, 'import'])
  } catch (error) {
    if (error instanceof Contradictory) return { is: 'contradictory', lines: error.lines }
    throw error
  }
}

class Contradictory extends Error {
  readonly lines: Contradiction[]
  constructor(lines: Contradiction[]) {
    super('rates contradict each other')
    this.lines = lines
  }
}

async function importAll(tx: Tx, lines: AsyncIterable<RateLine>): Promise<Imported> {
  // The rates of decades are one statement.
  await tx.query('set local statement_timeout = 0')
  await tx.query('create temporary table given_rates (line bigint, currency text, date date, usd_per_unit numeric) on commit drop')
  let rates = 0
  for await (const some of inGroups(lines)) {
    await stage(tx, some)
    rates += some.length
  }
  await tx.query('analyze given_rates')
  const contradictions = await contradictionsOf(tx)
  if (contradictions.length > 0) throw new Contradictory(contradictions)
  const changes = await writeChanged(tx)
  if (changes.currencies.length > 0) await recordRateChanges(tx, changes)
  return { is: 'imported', rates, added: changes.added, changed: changes.changed }
}

async function* inGroups(lines: AsyncIterable<RateLine>): AsyncGenerator<RateLine[]> {
  let some: RateLine[] = []
  for await (const line of lines) {
    // The rate of USD is 1 without a row.
    if (line.rate.currency !== 'USD') some.push(line)
    if (some.length < AT_ONCE) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

const stage = (tx: Tx, lines: RateLine[]): Promise<unknown> =>
  tx.query(
    `insert into given_rates select line, currency, date, rate_quotient(usd, per)
     from unnest($1::bigint[], $2::text[], $3::date[], $4::numeric[], $5::numeric[]) g(line, currency, date, usd, per)`,
    [
      lines.map(({ line }) => line),
      lines.map(({ rate }) => rate.currency),
      lines.map(({ rate }) => rate.date),
      lines.map(({ rate }) => rate.usd),
      lines.map(({ rate }) => rate.per),
    ],
  )

async function contradictionsOf(tx: Tx): Promise<Contradiction[]> {
  const { rows } = await tx.query<Contradiction>(
    `select min(g.line) as line, f.line as other, g.currency, g.date::text from (
       select distinct on (currency, date) currency, date, line, usd_per_unit from given_rates order by currency, date, line) f
     join given_rates g on g.currency = f.currency and g.date = f.date and g.usd_per_unit <> f.usd_per_unit
     group by g.currency, g.date, f.line order by 1 limit ${SHOWN}`,
  )
  return rows
}

type Written = ChangedRates & { added: number; changed: number }

// The days whose rate changes: from the first changed date, or from the beginning if no earlier date has a rate, until the first date with a
// rate after the last changed one.
const WRITE = `
with wanted as materialized (
  select distinct on (g.currency, g.date) g.currency, g.date, g.usd_per_unit, r.currency is null as is_new
  from given_rates g left join currency_rates r on r.currency = g.currency and r.date = g.date
  where r.usd_per_unit is distinct from g.usd_per_unit
), written as (
  insert into currency_rates (currency, date, usd_per_unit) select currency, date, usd_per_unit from wanted order by currency, date
  on conflict (currency, date) do update set usd_per_unit = excluded.usd_per_unit
), spans as (
  select w.*, earlier.date is null as is_first, later.date as until from (
    select currency, min(date) as first, max(date) as last from wanted group by currency) w
  left join lateral (select date from currency_rates r where r.currency = w.currency and r.date < w.first limit 1) earlier on true
  left join lateral (
    select date from currency_rates r where r.currency = w.currency and r.date > w.last order by date limit 1) later on true
)
select coalesce(array_agg(currency order by currency), '{}') as currencies,
  case when not bool_or(is_first) then min(first)::text end as from_day,
  case when not bool_or(until is null) then max(until)::text end as until_day,
  (select count(*) filter (where is_new) from wanted)::int as added, (select count(*) filter (where not is_new) from wanted)::int as changed
from spans`

const writeChanged = async (tx: Tx): Promise<Written> => (await tx.query<Written>(WRITE)).rows[0]!
