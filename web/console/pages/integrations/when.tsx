import { usePlace } from '../../data/place.ts'
import { Time } from '../../parts/time.tsx'

/** How long ago, or in how long. The sandbox has a clock of its own, from which only the moment itself can be told. */
export const When = ({ at }: { at: string | null }) => <Time at={at} relative={usePlace()?.environment === 'production'} />
