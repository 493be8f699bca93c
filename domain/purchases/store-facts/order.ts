import { createHash } from 'node:crypto'
import { canonicalJson } from '../../kernel/canonical-json.ts'
import { ORIGINS, type Statement } from './statement.ts'

/** A statement with what decides between statements of the same instant: the rank of its origin, then a hash of its content. */
export type Tied<S extends Statement = Statement> = S & { tie: string }

/**
 * Neither the time nor the sequence of the statement is in the tie. Two statements with equal content have the same tie. The table stores the tie,
 * so a later version must compute the same one: the hash is of the names that the columns have.
 */
export function tied<S extends Statement>(statement: S): Tied<S> {
  const { statedAt, sequence, reported, ...content } = statement
  const hash = createHash('sha256')
    .update(canonicalJson({ ...content, said: reported }))
    .digest('hex')
  return { ...statement, tie: `${ORIGINS.indexOf(statement.origin)}${hash.slice(0, 40)}` }
}

const isOfStore = ({ origin }: Tied): number => (origin === 'caller' ? 0 : 1)

/** Statements of callers come first, whatever their time: they count only where the store states nothing. */
export const byWeight = (a: Tied, b: Tied): number =>
  isOfStore(a) - isOfStore(b) ||
  a.statedAt - b.statedAt ||
  ORIGINS.indexOf(a.origin) - ORIGINS.indexOf(b.origin) ||
  (a.sequence ?? 0) - (b.sequence ?? 0) ||
  (a.tie < b.tie ? -1 : a.tie > b.tie ? 1 : 0)

type Reported<S extends Statement> = S['reported']

/** The value of a field: that of the last statement that states it. `statements` in the order of their weight. */
export const lastReported = <S extends Statement, F extends keyof Reported<S>>(
  statements: readonly Tied<S>[],
  field: F,
): Reported<S>[F] | undefined =>
  (statements as readonly { reported: Reported<S> }[]).findLast(({ reported }) => reported[field] !== undefined)?.reported[field]
