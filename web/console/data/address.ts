import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

export type Search = Record<string, string | undefined>

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** Fetches what the page shows of an address. */
    prefetch?: (params: Record<string, string>, search: Search) => void
  }
}

/**
 * The state of the page, which is the address: `[search, set]`. `set` changes what it names and keeps the rest; undefined takes a name away.
 * A change of what the page shows replaces the entry of the history; `push` adds one, for a drawer or a tab that *Back* shall close.
 */
export function useAddress(): [Search, (change: Search, how?: { push?: boolean }) => void] {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const set = useCallback(
    (change: Search, how: { push?: boolean } = {}) =>
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, ...change })) as never,
        replace: !how.push,
        resetScroll: false,
      }),
    [navigate],
  )
  return [search, set]
}

/**
 * To be called with a change as its control is pressed: what the page will show when it is let go is asked for at once. A press lasts some 80 ms.
 */
export function useAhead(): (change: Search) => void {
  const router = useRouter()
  return useCallback(
    change => {
      const { params, search, staticData } = router.state.matches.at(-1)!
      staticData.prefetch?.(params as Record<string, string>, { ...(search as Search), ...change })
    },
    [router],
  )
}

/** The same for a link to another page, with the whole of its search. */
export function useAheadOf(): (to: string, search: Search) => void {
  const router = useRouter()
  return useCallback(
    (to, search) => {
      const { params, staticData } = router.matchRoutes(router.buildLocation({ to, search } as never)).at(-1)!
      staticData.prefetch?.(params as Record<string, string>, search)
    },
    [router],
  )
}

/** Several values as one text of the address: `DE,FR`. A comma in a value is written as `%2C`. */
export const joined = (values: readonly string[]): string | undefined =>
  values.length === 0 ? undefined : values.map(value => value.replaceAll('%', '%25').replaceAll(',', '%2C')).join(',')

export const split = (text: string | undefined): string[] =>
  text ? text.split(',').map(value => value.replaceAll('%2C', ',').replaceAll('%25', '%')) : []

/** The filters of the address, `f.country=DE,FR`, as the API takes them: `filter[country][]`. */
export const filtersOf = (search: Search): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      name.startsWith('f.') && value ? [[`filter[${name.slice(2)}][]`, split(value)]] : [],
    ),
  )
