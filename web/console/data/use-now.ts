import { useTick } from '../parts/time.tsx'
import { nowHere, setAhead } from './clock.ts'
import { usePlace } from './place.ts'
import { useRead } from './read.ts'

/** Sets `nowHere` to the clock of the environment. False while that is read for the first time: ranges and ages would be wrong until then. */
export function useClock(): boolean {
  const sandbox = usePlace()?.environment === 'sandbox'
  const { data, dataUpdatedAt, isError } = useRead('v4GetTestClock', {}, { every: 30_000, when: sandbox })
  // In the render: what is drawn below counts by it.
  setAhead(sandbox && data ? Date.parse(data.now) - dataUpdatedAt : 0)
  return !sandbox || data !== undefined || isError
}

/** Now in milliseconds: in the sandbox by its own clock. Undefined until that is read. */
export function useNow(): number | undefined {
  const sandbox = usePlace()?.environment === 'sandbox'
  useTick()
  const { data } = useRead('v4GetTestClock', {}, { when: sandbox })
  return sandbox && data === undefined ? undefined : nowHere()
}
