import { Tooltip } from '@mantine/core'
import { usePreferences } from '../data/session.ts'
import { useTick } from '../data/use-tick.ts'
import { ago, dateOf, moment } from './format.ts'

/**
 * A moment in the zone of the operator; on hover and focus with its zone, in UTC and relative to now. `at`: ISO or Unix seconds. Now is that of
 * the environment; `real`: of real time, for what is of no environment.
 */
export function Time({ at, relative, real }: { at: string | number | null | undefined; relative?: boolean; real?: boolean }) {
  const { zone } = usePreferences()
  useTick(relative === true)
  if (at === null || at === undefined) return <span className="faint">–</span>
  const iso = dateOf(at).toISOString().replace('.000', '')
  const since = real ? ago(at, Date.now()) : ago(at)
  return (
    <Tooltip label={`${moment(at, zone)} ${zone} · ${iso} · ${since}`} events={{ hover: true, focus: true, touch: true }} openDelay={150}>
      <time dateTime={iso} className="time">
        {relative ? since : moment(at, zone)}
      </time>
    </Tooltip>
  )
}
