import type { Db } from '../../../store/connect.ts'
import { SYSTEM_SEGMENTS } from '../../audience/segments/system.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Attribute, type ColumnAttribute, isColumn, labelOf, UNKNOWN } from './attributes.ts'
import type { FactSource } from './source.ts'
import { type CountedWord, countValues } from './value-counts.ts'

/** Values of one attribute in an answer. */
const MOST_VALUES = 500

export type FilterValue = { code: string; label: string }
export type FilterCondition = {
  attribute: string
  label: string
  category: 'user' | 'purchase'
  multiple: true
  persistent: boolean
  type: 'list' | 'text'
  values?: FilterValue[]
}

/** The products that words stand for now: the linked product, else the store's own. */
async function productsOf(db: Db, environment: Environment, numbers: number[]): Promise<Map<number, string>> {
  if (numbers.length === 0) return new Map()
  const { rows } = await db.query<{ word: number; product: string }>({
    name: 'products-of-words',
    text: `select p.store_product_no as word, p.product_id as product from unnest($2::int[]) k(no)
      cross join lateral (select store_product_no, product_id from perennial_products where environment = $1 and store_product_no = k.no offset 0) p`,
    values: [environment, numbers],
  })
  return new Map(rows.map(({ word, product }) => [word, product]))
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Words of the same value (stores' products that one product links, a text that says `unknown`) are one value, with the users of all. */
function valuesOf({ code: attribute }: ColumnAttribute, counts: CountedWord[], textOf: (word: number) => string | null): FilterValue[] {
  const users = new Map<string, bigint>()
  for (const { word, users: more } of counts) {
    const text = textOf(word) ?? UNKNOWN
    users.set(text, (users.get(text) ?? 0n) + more)
  }
  return [...users]
    .map(([code, count]) => ({ code, label: labelOf(attribute, code === UNKNOWN ? null : code), count }))
    .sort((a, b) => (a.count === b.count ? compare(a.label, b.label) || compare(a.code, b.code) : a.count > b.count ? -1 : 1))
    .slice(0, MOST_VALUES)
    .map(({ code, label }) => ({ code, label }))
}

/** Own segments, newest first. System segments are as old as the environment, so they are the last; they are always there. */
async function segmentValues(db: Db, environment: Environment): Promise<FilterValue[]> {
  const { rows } = await db.query<FilterValue>({
    name: 'segments-to-filter-by',
    text: 'select id as code, name as label from segments where environment = $1 order by created_at desc, id desc limit $2',
    values: [environment, MOST_VALUES - SYSTEM_SEGMENTS.length],
  })
  return [...rows, ...SYSTEM_SEGMENTS.map(({ id, name }) => ({ code: id, label: name }))]
}

/** The groups of the newest experiment first. Groups of several experiments have the same names, so the label has both names. */
async function groupValues(db: Db, environment: Environment): Promise<FilterValue[]> {
  const { rows } = await db.query<FilterValue>({
    name: 'groups-to-filter-by',
    text: `select e.id || ':' || g.id as code, e.name || ': ' || coalesce(g.name, g.id) as label
      from experiments e cross join lateral (
        select id, name, n from experiment_groups where environment = $1 and experiment_id = e.id order by n) g
      where e.environment = $1 order by e.created_at desc, e.id desc, g.n limit $2`,
    values: [environment, MOST_VALUES],
  })
  return rows
}

/** The values by which the attributes can filter: those that occur in the facts, the values of most users first, ties by label. */
export async function filterConditions(
  source: FactSource,
  db: Db,
  environment: Environment,
  attributes: readonly Attribute[],
): Promise<FilterCondition[]> {
  const counted = await countValues(source, attributes.filter(isColumn))
  const numbers = [...counted].flatMap(([, counts]) => counts.map(({ word }) => word)).filter(word => word !== 0)
  const texts = numbers.length === 0 ? new Map<number, string>() : await source.textsOf([...new Set(numbers)])
  const ofProducts = [...counted].find(([{ code }]) => code === 'product_id')?.[1] ?? []
  const products = await productsOf(
    db,
    environment,
    ofProducts.map(({ word }) => word),
  )
  const textOf = (attribute: ColumnAttribute) => (word: number) =>
    (attribute.code === 'product_id' ? products.get(word) : undefined) ?? texts.get(word) ?? null

  const listed = async (attribute: Attribute): Promise<FilterValue[]> => {
    if (attribute.code === 'segment_id') return segmentValues(db, environment)
    if (attribute.code === 'experiment_group_id') return groupValues(db, environment)
    return isColumn(attribute) ? valuesOf(attribute, counted.get(attribute) ?? [], textOf(attribute)) : []
  }
  const conditions: FilterCondition[] = []
  for (const attribute of attributes) {
    const { code, label, category, persistent, type } = attribute
    const values = type === 'list' && { values: await listed(attribute) }
    conditions.push({ attribute: code, label, category, multiple: true, persistent, type, ...values })
  }
  return conditions
}
