import { nowHere } from './clock.ts'
import { usePlace } from './place.ts'
import { useRead } from './read.ts'
import { useTick } from './use-tick.ts'

/** Now in milliseconds: in the sandbox by its own clock. Undefined until that is read. */
export function useNow(): number | undefined {
  const sandbox = usePlace()?.environment === 'sandbox'
  useTick()
  const { data } = useRead('v4GetTestClock', {}, { when: sandbox })
  return sandbox && data === undefined ? undefined : nowHere()
}
