import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type AttributeCode, attributeOf, isColumn, UNKNOWN } from './attributes.ts'
import type { ProductWords } from './product-words.ts'
import type { Filters } from './question.ts'
import type { FactSource, FigureRelation } from './source.ts'
import { inSet, loadUserSets } from './user-sets.ts'

/** What filters mean in terms of the facts: for each attribute the numbers of its words, and the users of whom the others are true. */
export type Restriction = { words: ReadonlyMap<AttributeCode, readonly number[]>; sets: FigureRelation[] }

/** The number of an unknown value. */
const NO_WORD = 0

/** `scanning`: a pool whose statements may read all users of the environment. */
export async function loadRestriction(
  { source, scanning, products }: { source: FactSource; scanning: Db; products: ProductWords },
  environment: Environment,
  filters: Filters,
): Promise<Restriction> {
  const words = new Map<AttributeCode, readonly number[]>()
  const asked = [...filters].filter(([code]) => isColumn(attributeOf(code)!))
  const numbers = await source.numbersOf([...new Set(asked.flatMap(([, values]) => values))])
  for (const [code, values] of asked) {
    const known =
      code === 'product_id'
        ? [...products.idOf].flatMap(([no, id]) => (values.includes(id) ? [no] : []))
        : values.flatMap(value => numbers.get(value) ?? [])
    words.set(code, values.includes(UNKNOWN) ? [NO_WORD, ...known] : known)
  }
  return { words, sets: await loadUserSets(scanning, environment, filters) }
}

/**
 * SQL conditions under which a row counts. `column`: the column of an attribute in the row, as SQL; null: the row does not have it and the
 * attribute does not restrict it.
 */
export function conditionsOf({ words, sets }: Restriction, user: string, column: (code: AttributeCode) => string | null): string[] {
  const ofWords = [...words].flatMap(([code, numbers]) => {
    const name = column(code)
    if (name === null) return []
    return numbers.length === 0 ? 'false' : `${name} in (${numbers.join(', ')})`
  })
  return [...ofWords, ...sets.map(set => inSet(user, set))]
}
