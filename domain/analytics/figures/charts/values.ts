import { type ColumnAttribute, labelOf, UNKNOWN } from '../attributes.ts'
import type { FigureRelation } from '../source.ts'
import { isOfActiveUsers } from './distinct.ts'
import type { Divide } from './lines.ts'
import type { Measure } from './measure.ts'
import type { ScanContext } from './scan-rows.ts'
import { type Division, UNDIVIDED } from './tally.ts'

/** The values of an attribute by number; 0 is an unknown value. Several words may have one value: a product that several store products link. */
export type Values = { divide: Divide; named: (numbers: number[]) => Promise<Map<number, { code: string; label: string }>> }

const pairs = (name: string, entries: [word: number, number: number][]): FigureRelation => ({
  name,
  columns: [
    { name: 'word', values: entries.map(([word]) => BigInt(word)) },
    { name: 'number', values: entries.map(([, number]) => BigInt(number)) },
  ],
})

/** Divides rows by the number that the relation gives to the word; a word that it does not have has the number 0. */
function divideBy(attribute: ColumnAttribute, { denominator }: Measure, relation: FigureRelation): Divide {
  const by = (column: string): Division => ({
    sql: `coalesce(v.number, 0)`,
    joins: ` left join ${relation.name} v on v.word = ${column}`,
    relations: [relation],
  })
  return { scan: scan => by(scan.column(attribute)), users: usersBy(attribute, denominator, by) }
}

function usersBy(attribute: ColumnAttribute, denominator: Measure['denominator'], by: (column: string) => Division): Division {
  if (denominator === 'payers') return by(`t.${attribute.columns.transaction}`)
  return denominator === 'active users' && isOfActiveUsers(attribute) ? by(`u.${attribute.columns.user}`) : UNDIVIDED
}

/** Divides by the values themselves. */
export function dividedByValue(context: ScanContext, attribute: ColumnAttribute, measure: Measure): Values {
  const { source, products } = context
  const named = (code: string) => ({ code, label: labelOf(attribute.code, code === UNKNOWN ? null : code) })
  if (attribute.code === 'product_id') {
    const ids = [...new Set(products.idOf.values())]
    const numberOf = new Map(ids.map((id, i) => [id, i + 1]))
    const valueNumbers = pairs(
      'product_values',
      [...products.idOf].map(([word, id]) => [word, numberOf.get(id)!]),
    )
    return {
      divide: divideBy(attribute, measure, valueNumbers),
      named: async numbers => new Map(numbers.map(number => [number, named(ids[number - 1] ?? UNKNOWN)])),
    }
  }
  const by = (column: string): Division => ({ sql: column, joins: '', relations: [] })
  return {
    divide: { scan: scan => by(scan.column(attribute)), users: usersBy(attribute, measure.denominator, by) },
    async named(numbers) {
      const texts = await source.textsOf(numbers.filter(number => number !== 0))
      return new Map(numbers.map(number => [number, named(texts.get(number) ?? UNKNOWN)]))
    },
  }
}

/** Divides into series: `codes` have the numbers 1, 2, …, every other value 0. */
export async function dividedIntoSeries(
  { source, products }: ScanContext,
  attribute: ColumnAttribute,
  measure: Measure,
  codes: string[],
): Promise<Divide> {
  const numberOf = new Map(codes.map((code, i) => [code, i + 1]))
  const entries: [number, number][] = []
  const add = (word: number, code: string) => {
    const number = numberOf.get(code)
    if (number !== undefined) entries.push([word, number])
  }
  if (attribute.code === 'product_id') for (const [word, id] of products.idOf) add(word, id)
  else for (const [code, word] of await source.numbersOf(codes)) add(word, code)
  add(0, UNKNOWN)
  return divideBy(attribute, measure, pairs('series_of_words', entries))
}
