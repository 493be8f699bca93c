import { createHash } from 'node:crypto'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import { ORIGINS, type Statement } from './statement.ts'

/** A statement with what decides between statements of the same instant: the rank of its origin, then a hash of its content. */
export type Tied<S extends Statement = Statement> = S & { tie: string }

/** Neither its time nor its sequence is in it. Two statements with equal content have the same tie. */
export function tied<S extends Statement>(statement: S): Tied<S> {
  const { statedAt, sequence, ...content } = statement
  const hash = createHash('sha256').update(canonicalJson(content)).digest('hex')
  return { ...statement, tie: `${ORIGINS.indexOf(statement.origin)}${hash.slice(0, 40)}` }
}

const isOfStore = ({ origin }: Tied): number => (origin === 'caller' ? 0 : 1)

/** What callers said first, whatever its time: it counts only where the store says nothing. */
export const byWeight = (a: Tied, b: Tied): number =>
  isOfStore(a) - isOfStore(b) ||
  a.statedAt - b.statedAt ||
  ORIGINS.indexOf(a.origin) - ORIGINS.indexOf(b.origin) ||
  (a.sequence ?? 0) - (b.sequence ?? 0) ||
  (a.tie < b.tie ? -1 : a.tie > b.tie ? 1 : 0)

type Said<S extends Statement> = S['said']

/** The value of a field: that of the last statement that states it. `statements` in the order of their weight. */
export const lastSaid = <S extends Statement, F extends keyof Said<S>>(statements: readonly Tied<S>[], field: F): Said<S>[F] | undefined =>
  (statements as readonly { said: Said<S> }[]).findLast(({ said }) => said[field] !== undefined)?.said[field]
