import { Chip } from '../../parts/chip.tsx'
import { LiveMark } from '../../parts/live-mark.tsx'
import { counted, t } from '../../parts/t.ts'
import { LIMIT } from './query.ts'
import type { Rate } from './tail.ts'

/** Whether the log is followed, how fast it grows, and what has come while it stood still. */
export function TailBar({
  follows,
  paused,
  newer,
  rate,
  onPause,
  onNewest,
}: {
  follows: boolean
  paused: boolean
  newer: number
  rate: Rate | undefined
  onPause: () => void
  onNewest: () => void
}) {
  if (!follows)
    return (
      <Chip icon="up" onClick={onNewest}>
        {t('The newest')}
      </Chip>
    )
  return (
    <>
      {rate !== undefined && rate.perSecond > 0 && <span className="num rate">{textOf(rate)}</span>}
      {!paused && <LiveMark />}
      {paused && <span className="fresh late">{waiting(newer)}</span>}
      <Chip on={paused} onClick={onPause}>
        {paused ? t('Go on') : t('Pause')}
      </Chip>
    </>
  )
}

const textOf = ({ perSecond, isLeast }: Rate) =>
  isLeast ? t('over {n} a second', { n: Math.floor(perSecond) }) : t('{n} a second', { n: perSecond.toFixed(1) })

function waiting(newer: number): string {
  if (newer === 0) return t('paused')
  return newer >= LIMIT ? t('paused, {n} or more newer', { n: LIMIT }) : counted(newer, 'paused, {n} newer', 'paused, {n} newer')
}
