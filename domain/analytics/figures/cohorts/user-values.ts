import type { Db } from '../../../../store/connect.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { type AttributeCode, type ColumnAttribute, labelOf, UNKNOWN } from '../attributes.ts'
import type { ProductVocabulary } from '../product-vocabulary.ts'
import type { FactSource } from '../source.ts'

// Attributes classify users: purchase attributes by the first trial or paid transaction, the others by it, too, where there is one, else by what
// was first known.

/** SQL for the number of a user's value. */
export function userValue({ columns: { user, cohort } }: ColumnAttribute, u: string): string {
  if (cohort === user) return `${u}.${user}`
  return `case when ${u}.first_trial_or_paid is null then ${user === null ? '0' : `${u}.${user}`} else ${u}.${cohort} end`
}

/** How a question about users reaches the facts. `scanning`: its statements may read all users of the environment. */
export type FactReader = { scanning: Db; environment: Environment; source: FactSource; products: ProductVocabulary }

/** A value, or the rest of the values together, with the numbers that stand for it. */
export type UserSegment = { code: string; label: string; numbers: number[] }

const MOST_SEGMENTS = 50
const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The 50 values with most users, ties by label, then the rest as one. `users`: how many have each number. */
export async function segmentsOf(
  { source, products }: FactReader,
  attribute: AttributeCode,
  users: ReadonlyMap<number, number>,
): Promise<UserSegment[]> {
  const values = attribute === 'product_id' ? products.idOf : await source.textsOf([...users.keys()])
  const byCode = new Map<string, UserSegment & { users: number }>()
  for (const [number, count] of users) {
    const code = values.get(number) ?? UNKNOWN
    const label = labelOf(attribute, code === UNKNOWN ? null : code)
    const segment = byCode.get(code) ?? { code, label, numbers: [], users: 0 }
    segment.numbers.push(number)
    segment.users += count
    byCode.set(code, segment)
  }
  const all = [...byCode.values()].sort((a, b) => b.users - a.users || byText(a.label, b.label) || byText(a.code, b.code))
  const rest = all.slice(MOST_SEGMENTS).flatMap(({ numbers }) => numbers)
  return [...all.slice(0, MOST_SEGMENTS), ...(rest.length > 0 ? [{ code: 'other', label: 'Other', numbers: rest }] : [])]
}
