import { type QueryClient, skipToken, useQuery, useQueryClient } from '@tanstack/react-query'
import type { EventBatch } from '../../../../clients/typescript/src/index.ts'
import type { ApiError } from '../../data/api-error.ts'
import { askAgain } from '../../data/ask-again.ts'
import { callOf, type Input } from '../../data/operations.ts'
import { addressOf, type Place, usePlace } from '../../data/place.ts'
import { request } from '../../data/request.ts'

type Event = Input<'v4CreateEvents'>['body']['events'][number]

/** `stored`, `known`: orders that are new, and that were there already. */
export type Loading = { all: number; stored: number; known: number } & (
  | { state: 'loads' }
  | { state: 'done' }
  | { state: 'failed'; error: ApiError }
)

/** So many at once that one sees it go on. */
const AT_ONCE = 100

/** The orders as `npm run cli -- import examples/cdnow.csv --map examples/cdnow.json` would store them, with the same ids: each is stored once, however it comes. */
const eventsOf = (csv: string): Event[] =>
  csv
    .trim()
    .split(/\r?\n/)
    .slice(1)
    .map((line, at) => {
      const [customer = '', date = '', quantity = '', amount = ''] = line.split(',')
      return {
        ...{ event_id: `cdnow-${at + 1}`, event_name: 'in_app_purchase', identity_id: customer, happened_at: `${date}T12:00:00Z` },
        ...{ price: amount, currency: 'USD', properties: { quantity: Number(quantity) } },
      }
    })

const keyOf = (place: Place | undefined) => ['sample', place] as const

/** Loads the sample, also while its page is left. A second time it finds everything there. */
export function useSample() {
  const place = usePlace()
  const client = useQueryClient()
  const { data: loading } = useQuery<Loading>({
    queryKey: keyOf(place),
    queryFn: skipToken,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
  const load = () => (place && loading?.state !== 'loads' ? run(client, place) : undefined)
  return { loading, load }
}

async function run(client: QueryClient, place: Place): Promise<void> {
  const tell = (loading: Loading) => client.setQueryData<Loading>(keyOf(place), loading)
  const own = { all: 1_000, stored: 0, known: 0 }
  tell({ ...own, state: 'loads' })
  try {
    const { SAMPLE } = await import('virtual:sample')
    const events = eventsOf(SAMPLE)
    own.all = events.length
    for (let at = 0; at < events.length; at += AT_ONCE) {
      const { created, duplicates } = await store(place, events.slice(at, at + AT_ONCE))
      own.stored += created
      own.known += duplicates
      tell({ ...own, state: 'loads' })
    }
    tell({ ...own, state: 'done' })
  } catch (error) {
    tell({ ...own, state: 'failed', error: error as ApiError })
  }
  await askAgain(client, ({ queryKey }) => JSON.stringify(queryKey[0]) === JSON.stringify(place))
}

/** As history: it starts nothing, and the customers begin with their first order. */
const store = (place: Place, events: Event[]) => {
  const { method, path } = callOf('v4CreateEvents')
  return request<EventBatch>(`${addressOf(place)}${path}`, { method, body: { events, trigger: false } })
}
