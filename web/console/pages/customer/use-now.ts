import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useTick } from '../../parts/time.tsx'

/** Now in milliseconds: of the clock on the wall, in the sandbox of its own clock. Undefined until that is read. */
export function useNow(): number | undefined {
  const place = usePlace()
  const sandbox = place?.environment === 'sandbox'
  useTick()
  const { data } = useRead('v4GetTestClock', {}, { every: 30_000, when: sandbox })
  if (!sandbox) return Date.now()
  return data && Date.parse(data.now)
}
