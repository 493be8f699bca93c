import { useTick } from '../parts/time.tsx'
import { usePlace } from './place.ts'
import { useRead } from './read.ts'

/** Now in milliseconds: of the clock on the wall, in the sandbox of its own clock. Undefined until that is read. */
export function useNow(): number | undefined {
  const place = usePlace()
  const sandbox = place?.environment === 'sandbox'
  useTick()
  const { data } = useRead('v4GetTestClock', {}, { every: 30_000, when: sandbox })
  if (!sandbox) return Date.now()
  return data && Date.parse(data.now)
}
