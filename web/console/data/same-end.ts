import { useMemo } from 'react'
import type { Range } from './range.ts'

/**
 * A question whose range ends now is another one a minute later, and a list of its pages would begin anew. While nothing else in it changes,
 * it stays the one that it was. `end`: the name of the end in it.
 */
export function useSameEnd<Query extends object>(query: Query, end: keyof Query, { key }: Range): Query {
  const text = JSON.stringify(key === 'own' ? query : { ...query, [end]: key })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has all of it but the end
  return useMemo(() => query, [text])
}
