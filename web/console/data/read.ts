import { type InfiniteData, type UseQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import type { ApiError } from './api-error.ts'
import { client } from './client.ts'
import type { Topic } from './live.ts'
import { type AnyInput, addressOfCall, callOf, type Input, type OperationName, type Result } from './operations.ts'
import { type Place, usePlace } from './place.ts'
import { request } from './request.ts'

export type ReadOptions = {
  /** The read is asked for again when something happens there. */
  topics?: readonly Topic[]
  /** Asked for again so often, in ms, while the page is visible. For what no topic announces. */
  every?: number
  /** False: not yet. */
  when?: boolean
}

export const keyOf = (place: Place | undefined, name: OperationName, input?: AnyInput) => [place, name, input ?? {}] as const

type Key = readonly [Place | undefined, OperationName, AnyInput, ...unknown[]]

const whoseOf = ([place, name, { path }]: Key) => JSON.stringify([place, name, path])

/** What was read stays while the same is asked for with another range or filter; of another project, person or chart nothing is kept. */
const whileAsking = (key: Key) => (previous: unknown, query?: { queryKey: readonly unknown[] }) => {
  const before = query?.queryKey as Key | undefined
  return (before !== undefined && whoseOf(before) === whoseOf(key) ? previous : undefined) as never
}

type Kept<Data> = { data: Data | undefined; error: ApiError | null; isError: boolean; isPlaceholderData: boolean }

/**
 * What was read stays also when the service does not answer the next question, which may be the same one a minute later: the failure stands
 * above it. A question that is refused has no answer but the refusal.
 */
function useKept<Data, Read extends Kept<Data>>(read: Read, key: Key): Read {
  const whose = whoseOf(key)
  const last = useRef<{ whose: string; data: Data }>(undefined)
  if (read.data !== undefined) last.current = { whose, data: read.data }
  const isLost = read.data === undefined && read.isError && (read.error === null || read.error.status === 0 || read.error.status >= 500)
  if (!isLost || last.current?.whose !== whose) return read
  return { ...read, data: last.current.data, isPlaceholderData: true }
}

/** A few operations read although they are sent by POST: what they ask does not fit into an address. */
const howToAsk = (name: OperationName, input: AnyInput | undefined) => ({ method: callOf(name, input).method, body: input?.body })

const queryOf = <Name extends OperationName>(
  place: Place | undefined,
  name: Name,
  input: Input<Name> | undefined,
  topics: ReadOptions['topics'],
) => ({
  queryKey: keyOf(place, name, input as AnyInput),
  meta: { topics },
  queryFn: ({ signal }: { signal: AbortSignal }): Promise<Result<Name>> =>
    request(addressOfCall(place!, name, input as AnyInput), { ...howToAsk(name, input as AnyInput), signal }),
})

/** Fetches before the page that shows the answer is drawn: its `useRead` of the same finds it on its way. */
export const prefetchRead = <Name extends OperationName>(place: Place, name: Name, input: Input<Name>, { topics }: ReadOptions = {}) =>
  void client.prefetchQuery(queryOf(place, name, input, topics))

/** Reads an operation in the project and environment of the address. What was read stays on the page while it is asked for again. */
export function useRead<Name extends OperationName>(
  name: Name,
  input?: Input<Name>,
  { topics, every, when = true }: ReadOptions = {},
): UseQueryResult<Result<Name>, ApiError> {
  const place = usePlace()
  const query = queryOf(place, name, input, topics)
  const key = query.queryKey
  const read = useQuery<Result<Name>, ApiError>({
    ...query,
    placeholderData: whileAsking(key),
    enabled: place !== undefined && when,
    ...(every !== undefined && { refetchInterval: every }),
  })
  return useKept<Result<Name>, typeof read>(read, key)
}

type Page = { data: readonly unknown[]; has_more: boolean; next_cursor?: string | null }
type Paged = { [Name in OperationName]: Result<Name> extends Page ? Name : never }[OperationName]

/** Reads a list with cursors, page after page: `data` is the rows of all pages read so far, `first` the whole first page, `more()` asks for the next one. */
export function usePages<Name extends Paged>(name: Name, input?: Input<Name>, { topics, every, when = true }: ReadOptions = {}) {
  const place = usePlace()
  const key = [...keyOf(place, name, input as AnyInput), 'pages'] as const
  const asked = useInfiniteQuery<Result<Name>, ApiError, InfiniteData<Result<Name>>, readonly unknown[], string | undefined>({
    queryKey: key,
    placeholderData: whileAsking(key),
    enabled: place !== undefined && when,
    meta: { topics },
    initialPageParam: undefined,
    ...(every !== undefined && { refetchInterval: every }),
    getNextPageParam: last => ((last as Page).has_more ? ((last as Page).next_cursor ?? undefined) : undefined),
    queryFn: ({ signal, pageParam }) => {
      const given = input as AnyInput | undefined
      const query = { ...given?.query, ...(pageParam !== undefined && { starting_after: pageParam }) }
      return request(addressOfCall(place!, name, { ...given, query }), { method: 'GET', signal })
    },
  })
  const read = useKept<InfiniteData<Result<Name>>, typeof asked>(asked, key)
  type Row = Result<Name> extends { data: readonly (infer Item)[] } ? Item : never
  const rows = read.data?.pages.flatMap(page => (page as Page).data as Row[])
  return { ...read, data: rows, first: read.data?.pages[0], more: () => void read.fetchNextPage() }
}
