import { setAhead } from '../data/clock.ts'
import { usePlace } from '../data/place.ts'
import { useRead } from '../data/read.ts'

/** Sets `nowHere` to the clock of the environment. False until the first answer, or the first failure: then real time counts. */
export function useClock(): boolean {
  const sandbox = usePlace()?.environment === 'sandbox'
  const { data, dataUpdatedAt, isFetched, failureCount } = useRead('v4GetTestClock', {}, { every: 30_000, when: sandbox })
  // In the render: what is drawn below counts by it.
  setAhead(sandbox && data ? Date.parse(data.now) - dataUpdatedAt : 0)
  return !sandbox || isFetched || failureCount > 0
}
