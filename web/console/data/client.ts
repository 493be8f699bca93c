import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'

const RETRIED = new Set([0, 502, 503, 504])

/** A 401 anywhere asks for the session again; its answer opens the panel to sign in over the page. */
const signedOut = (error: Error) => {
  if (error instanceof ApiError && error.status === 401) void client.invalidateQueries({ queryKey: ['session'] })
}

export const client = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => query.queryKey[0] !== 'session' && signedOut(error) }),
  mutationCache: new MutationCache({ onError: error => signedOut(error) }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      gcTime: 600_000,
      retry: (failures, error) => error instanceof ApiError && RETRIED.has(error.status) && failures < 2,
      retryDelay: failures => 800 * 2 ** failures,
    },
  },
})
