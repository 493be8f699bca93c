import type { Query, QueryClient } from '@tanstack/react-query'

/**
 * Asks again for all that is meant: after a change, what the page shows is of before. An answer under way is of before, too. The library ends
 * its question where an older answer is there, and waits for it where it is the first one: so a first one is asked again once it is there.
 */
export async function askAgain(client: QueryClient, isMeant: (query: Query) => boolean): Promise<void> {
  const first = client
    .getQueryCache()
    .findAll({ fetchStatus: 'fetching', predicate: query => query.state.data === undefined && isMeant(query) })
  await client.invalidateQueries({ predicate: isMeant })
  if (first.length > 0) await client.invalidateQueries({ predicate: query => first.includes(query) })
}
