import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type AttributeCode, attributeOf, isColumn, UNKNOWN } from './attributes.ts'
import type { ProductVocabulary } from './product-vocabulary.ts'
import type { Filters } from './question.ts'
import type { FactSource, FigureRelation } from './source.ts'
import { inSet, loadUserSets } from './user-sets.ts'

/** The numbers of an attribute's values in the vocabulary, one of which a row must have; `isRest`: none of which. */
export type AttributeNumbers = { code: AttributeCode; numbers: readonly number[]; isRest: boolean }

/**
 * The filters in terms of the facts: for each column attribute the numbers of its values in the vocabulary, and for the others the sets of
 * users who match. `segment`: a further condition on a row, so that it belongs to one series of a segmented chart.
 */
export type Restriction = {
  byAttribute: ReadonlyMap<AttributeCode, readonly number[]>
  sets: FigureRelation[]
  segment?: AttributeNumbers
}

/** The number of an unknown value. */
const NO_WORD = 0

/** The numbers in the vocabulary that stand for one of the values. `numbers`: those of the values themselves. */
export function numbersOfValues(
  code: AttributeCode,
  values: readonly string[],
  { products, numbers }: { products: ProductVocabulary; numbers: ReadonlyMap<string, number> },
): number[] {
  const known =
    code === 'product_id'
      ? [...products.idOf].flatMap(([no, id]) => (values.includes(id) ? [no] : []))
      : values.flatMap(value => numbers.get(value) ?? [])
  return values.includes(UNKNOWN) ? [NO_WORD, ...known] : known
}

/** `scanning`: a pool whose statements may read all users of the environment. */
export async function loadRestriction(
  { source, scanning, products }: { source: FactSource; scanning: Db; products: ProductVocabulary },
  environment: Environment,
  filters: Filters,
): Promise<Restriction> {
  const byAttribute = new Map<AttributeCode, readonly number[]>()
  const columnFilters = [...filters].filter(([code]) => isColumn(attributeOf(code)!))
  const numbers = await source.numbersOf([...new Set(columnFilters.flatMap(([, values]) => values))])
  for (const [code, values] of columnFilters) byAttribute.set(code, numbersOfValues(code, values, { products, numbers }))
  return { byAttribute, sets: await loadUserSets(scanning, environment, filters) }
}

/**
 * SQL conditions under which a row counts. `column`: the column of an attribute in the row, as SQL; null: the row does not have it and the
 * attribute does not restrict it.
 */
export function conditionsOf(
  { byAttribute, sets, segment }: Restriction,
  user: string,
  column: (code: AttributeCode) => string | null,
): string[] {
  const ofAttributes = [...byAttribute].flatMap(([code, numbers]) => {
    const name = column(code)
    if (name === null) return []
    return numbers.length === 0 ? 'false' : `${name} in (${numbers.join(', ')})`
  })
  return [...ofAttributes, ...ofSegment(segment, column), ...sets.map(set => inSet(user, set))]
}

function ofSegment(segment: AttributeNumbers | undefined, column: (code: AttributeCode) => string | null): string[] {
  const name = segment ? column(segment.code) : null
  if (!segment || name === null) return []
  const { numbers, isRest } = segment
  if (numbers.length === 0) return isRest ? [] : ['false']
  return [`coalesce(${name}, ${NO_WORD}) ${isRest ? 'not in' : 'in'} (${numbers.join(', ')})`]
}
