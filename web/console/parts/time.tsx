import { Tooltip } from '@mantine/core'
import { useEffect, useState } from 'react'
import { usePreferences } from '../data/session.ts'
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

let listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** Renders again every ten seconds, so that `3 min. ago` stays true. All share one timer. */
export function useTick(on = true) {
  const [, set] = useState(0)
  useEffect(() => {
    if (!on) return
    const tick = () => set(n => n + 1)
    listeners.add(tick)
    timer ??= setInterval(() => {
      if (!document.hidden) for (const listener of listeners) listener()
    }, 10_000)
    return () => {
      listeners.delete(tick)
      if (listeners.size > 0) return
      clearInterval(timer)
      timer = undefined
      listeners = new Set()
    }
  }, [on])
}
