import { useLiveState } from '../data/live.ts'
import { useOfflineSince } from '../data/online.ts'
import { t } from './t.ts'

const SAYS = { starting: 'connecting', live: 'live', polling: 'not live, every 5 s' } as const

/** Whether what one sees comes by itself at once, or is asked for. */
export function LiveMark() {
  const state = useLiveState()
  const offline = useOfflineSince() !== undefined
  return (
    <span className={!offline && state === 'live' ? 'fresh' : 'fresh late'}>
      <i aria-hidden="true" />
      {offline ? t('no network') : t(SAYS[state])}
    </span>
  )
}
