import type { Environment } from '../../../kernel/environment.ts'
import { MEASURES, unitOf } from '../charts/measure.ts'
import { PER_MILLION, type Quotient } from '../charts/rounding.ts'
import { scanRelations } from '../charts/scan.ts'
import type { ScanContext } from '../charts/scan-rows.ts'
import type { FactSource, FigureRow } from '../source.ts'
import { CAUSES, type FactRole, type FactRows, type FactTable, factRowsSql, KINDS } from './fact-rows.ts'
import type { RequestedNumber } from './number.ts'

/**
 * A fact with a part in a number. `id`: its position among the facts of the number. `contribution`: to the sum of its role. `happened`, `recorded`:
 * Unix seconds. `amount`: in its currency. An attribute of null is unknown, or the fact has none.
 */
export type NumberFact = {
  id: string
  role: FactRole
  kind: (typeof KINDS)[number]
  cause: (typeof CAUSES)[number] | null
  happened: number
  recorded: number
  user: string | null
  product: string | null
  platform: string | null
  country: string | null
  currency: string | null
  amount: Quotient | null
  contribution: Quotient
  purchase: string | null
  event: string | null
}

type Position = { happened: bigint; part: bigint; id: bigint }

const ID = /^(-?\d{1,12})\.(\d)\.(\d{1,18})$/
const idOf = ({ happened, part, id }: Position) => `${happened}.${part}.${id}`

/** Null: the text is no position. */
function positionOf(text: string): Position | null {
  const found = ID.exec(text)
  return found && { happened: BigInt(found[1]!), part: BigInt(found[2]!), id: BigInt(found[3]!) }
}

/** Whether the environment has the fact, or had it within the week for which tombstones stay: a fact keeps its position when it changes. */
export async function isKnownFact(source: FactSource, environment: Environment, table: FactTable, id: bigint): Promise<boolean> {
  const generation = `coalesce((select generation from fact_state where environment = ${environment}), 1)`
  const rows = await source.query({
    text: `select 1 as one from ${table} where environment = ${environment} and generation = ${generation} and ${table === 'user_facts' ? 'user_no' : 'id'} = ${id}`,
  })
  return rows.length > 0
}

type PageOptions = { limit: number; after?: string | undefined; recordedFrom?: number | undefined }

/** The facts after a position, the latest first. `restarted`: the position is none, and these are the first. `recordedFrom`: only later ones. */
export async function factsAfter(
  context: ScanContext,
  environment: Environment,
  requested: RequestedNumber,
  all: readonly FactRows[],
  { limit, after, recordedFrom }: PageOptions,
): Promise<{ facts: NumberFact[]; restarted: boolean }> {
  const given = after === undefined ? null : positionOf(after)
  const table = given && all[Number(given.part)]?.table
  const position = table && (await isKnownFact(context.source, environment, table, given.id)) ? given : null
  const restarted = after !== undefined && position === null
  if (all.length === 0) return { facts: [], restarted }
  const parts = factRowsSql(all).map((sql, part) => {
    const where = [
      ...(recordedFrom === undefined ? [] : [`f.recorded >= ${recordedFrom}`]),
      ...(position === null ? [] : [beyond(position, BigInt(part))]),
    ]
    return `(${sql}${where.map(condition => ` and ${condition}`).join('')} order by f.happened desc, f.id desc limit ${limit})`
  })
  const text = `select * from (${parts.join(' union all ')}) x order by x.happened desc, x.part desc, x.id desc limit ${limit}`
  const rows = await context.source.query({ text, relations: scanRelations(context) })
  return { facts: await named(context, rows, all, unitOf(MEASURES[requested.chart.code], context.products)), restarted }
}

/** Facts that come after the position, of one part. */
function beyond({ happened, part: of, id }: Position, part: bigint): string {
  const isAfter = part < of ? 'f.happened <=' : 'f.happened <'
  const later = `${isAfter} ${happened}`
  return part === of ? `(${later} or f.happened = ${happened} and f.id < ${id})` : later
}

async function textsOf({ source, products }: ScanContext, rows: FigureRow[]) {
  const numbers = (names: string[]) => [...new Set(rows.flatMap(row => names.flatMap(name => (row[name] ? [Number(row[name])] : []))))]
  const texts = await source.textsOf(numbers(['platform', 'country', 'currency']))
  const users = numbers(['user_no'])
  const found = users.length === 0 ? [] : await source.query({ text: `select no, id from users where no in (${users.join(', ')})` })
  const idOf = new Map(found.map(({ no, id }) => [Number(no), id as string]))
  const number = (row: FigureRow, name: string) => (row[name] === null ? null : Number(row[name]))
  return {
    word: (row: FigureRow, name: string) => texts.get(number(row, name) ?? 0) ?? null,
    product: (row: FigureRow) => products.idOf.get(number(row, 'product') ?? 0) ?? null,
    user: (row: FigureRow) => idOf.get(Number(row.user_no)) ?? null,
    number,
  }
}

async function named(context: ScanContext, rows: FigureRow[], all: readonly FactRows[], per: bigint): Promise<NumberFact[]> {
  const { word, product, user, number } = await textsOf(context, rows)
  return rows.map(row => {
    const { role } = all[Number(row.part)]!
    const cause = number(row, 'cause')
    return {
      id: idOf({ happened: row.happened as bigint, part: row.part as bigint, id: row.id as bigint }),
      role,
      kind: KINDS[Number(row.kind) - 1]!,
      cause: cause === null ? null : CAUSES[cause - 1]!,
      happened: Number(row.happened),
      recorded: Number(row.recorded),
      user: user(row),
      product: product(row),
      platform: word(row, 'platform'),
      country: word(row, 'country'),
      currency: word(row, 'currency'),
      amount: row.amount === null ? null : { top: row.amount as bigint, bottom: PER_MILLION },
      contribution: { top: row.contribution as bigint, bottom: role === 'denominator' ? 1n : per },
      purchase: row.purchase === null ? null : String(row.purchase),
      event: row.event as string | null,
    }
  })
}
