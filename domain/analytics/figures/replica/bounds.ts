import type { DuckDBConnection } from '@duckdb/node-api'
import type { FactBounds } from '../source.ts'
import { TABLES } from './tables.ts'

const PROCEEDS = ['proceeds', 'proceeds_usd']
const OF_TRANSACTIONS = { prefixes: [''], amounts: ['amount', 'usd_given', ...PROCEEDS] }
const OF_CHANGES = { prefixes: ['a_', 'b_'], amounts: ['amount', 'usd_given'] }
const PARTS = new Map<string, typeof OF_TRANSACTIONS>([
  [TABLES.transactions.name, OF_TRANSACTIONS],
  [TABLES.changes.name, OF_CHANGES],
])

export const NO_BOUNDS: FactBounds = {
  days: { first: Infinity, last: -Infinity },
  currencies: [],
  paid: [],
  bits: 1,
  areProceedsStated: false,
}

/** The bounds that contain both. */
const joined = (a: FactBounds, b: FactBounds): FactBounds => ({
  days: { first: Math.min(a.days.first, b.days.first), last: Math.max(a.days.last, b.days.last) },
  currencies: [...new Set([...a.currencies, ...b.currencies])],
  paid: [...new Set([...a.paid, ...b.paid])],
  bits: Math.max(a.bits, b.bits),
  areProceedsStated: a.areProceedsStated || b.areProceedsStated,
})

/** Widens the bounds by the rows of `from`, which has the columns of the table `name`. Other tables have no bounds. */
export async function widened(connection: DuckDBConnection, bounds: FactBounds, name: string, from: string): Promise<FactBounds> {
  const part = PARTS.get(name)
  if (!part) return bounds
  const { prefixes, amounts } = part
  const ofStates = (names: string[]) => prefixes.flatMap(prefix => names.map(column => `${prefix}${column}`))
  const most = ofStates(amounts).flatMap(column => [`coalesce(max(${column}), 0)`, `-coalesce(min(${column}), 0)::hugeint`])
  const days = ofStates(['bought_on']).map(column => `min(${column}), max(${column})`)
  const stated = amounts.filter(column => PROCEEDS.includes(column)).map(column => `count(${column})`)
  const text = `select greatest(${most.join(', ')})::varchar, ${['0', ...stated].join(' + ')} > 0, ${days.join(', ')} from ${from}`
  const [row] = (await connection.runAndReadAll(text)).getRows()
  const [largest, areProceedsStated, ...edges] = row!
  const currencies = prefixes.map(prefix => {
    const isPaid = amounts.map(column => `coalesce(${prefix}${column}, 0) <> 0`).join(' or ')
    return `select ${prefix}currency as word, bool_or(${isPaid}) as paid from ${from} where ${prefix}currency is not null group by 1`
  })
  const occurring = (await connection.runAndReadAll(currencies.join(' union all '))).getRows()
  const numbered = (rows: typeof occurring) => [...new Set(rows.map(([word]) => Number(word)))]
  const known = edges.flatMap(day => (day === null ? [] : Number(day)))
  return joined(bounds, {
    days: { first: Math.min(Infinity, ...known), last: Math.max(-Infinity, ...known) },
    currencies: numbered(occurring),
    paid: numbered(occurring.filter(([, isPaid]) => isPaid)),
    bits: Math.max(1, BigInt(largest as string).toString(2).length),
    areProceedsStated: areProceedsStated as boolean,
  })
}

/** The bounds of all facts of a file: some milliseconds for each million of them. */
export async function boundsOfFile(connection: DuckDBConnection, schema: string): Promise<FactBounds> {
  let bounds = NO_BOUNDS
  for (const name of PARTS.keys()) bounds = await widened(connection, bounds, name, `${schema}.${name}`)
  return bounds
}
