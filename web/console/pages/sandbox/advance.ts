import { type QueryClient, skipToken, useQuery, useQueryClient } from '@tanstack/react-query'
import type { AdvancedTestClock, DryRun, TestClock } from '../../../../clients/typescript/src/index.ts'
import { ApiError } from '../../data/api-error.ts'
import { askAgain } from '../../data/ask-again.ts'
import { callOf, type Input } from '../../data/operations.ts'
import { addressOf, type Place, usePlace } from '../../data/place.ts'
import { request } from '../../data/request.ts'

/** What is asked for: how far, or to when. */
export type Wanted = Input<'v4AdvanceTestClock'>['body']
/** `parts`: requests that ended before the clock stood at its target. `drained`: of the last request. */
export type Advance = { from: string; to: string; parts: number } & (
  | { state: 'moves' }
  | { state: 'done'; drained: AdvancedTestClock['drained'] }
  | { state: 'failed'; error: ApiError }
)

const keyOf = (place: Place | undefined) => ['advance', place] as const
const method = 'POST'

/** An advance goes on when its page is left: it is kept beside what was read. */
export function useAdvance() {
  const place = usePlace()
  const client = useQueryClient()
  const { data: advance } = useQuery<Advance>({
    queryKey: keyOf(place),
    queryFn: skipToken,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
  const start = (wanted: Wanted, clock: TestClock) => (place && advance?.state !== 'moves' ? run(client, place, wanted, clock) : undefined)
  return { advance, start }
}

const send = <Answer>(place: Place, body: Wanted, headers: Record<string, string> = {}) =>
  request<Answer>(`${addressOf(place)}${callOf('v4AdvanceTestClock').path}`, {
    method,
    body,
    headers,
    key: crypto.randomUUID(),
  })

/** The service says where an advance would end; so that what is left after a part of it can be asked for. */
async function targetOf(place: Place, wanted: Wanted): Promise<string> {
  const { changes } = await send<DryRun>(place, wanted, { 'Dry-Run': 'true' })
  return (changes[0]?.after as { target: string }).target
}

async function run(client: QueryClient, place: Place, wanted: Wanted, clock: TestClock): Promise<void> {
  const tell = (advance: Advance) => client.setQueryData<Advance>(keyOf(place), advance)
  const own = { from: clock.now, to: clock.now, parts: 0 }
  tell({ ...own, state: 'moves' })
  try {
    own.to = await targetOf(place, wanted)
    tell({ ...own, state: 'moves' })
    for (;;) {
      const answer = await part(place, own.to)
      if (answer !== undefined) {
        tell({ ...own, state: 'done', drained: answer.drained })
        break
      }
      own.parts += 1
      tell({ ...own, state: 'moves' })
    }
  } catch (error) {
    tell({ ...own, state: 'failed', error: error as ApiError })
  }
  // Everything may have happened.
  await askAgain(client, ({ queryKey }) => JSON.stringify(queryKey[0]) === JSON.stringify(place))
}

/** One request; undefined: its minute was over before the clock stood at the target. */
async function part(place: Place, to: string): Promise<AdvancedTestClock | undefined> {
  try {
    return await send<AdvancedTestClock>(place, { to })
  } catch (error) {
    if (error instanceof ApiError && error.status === 504) return undefined
    throw error
  }
}
