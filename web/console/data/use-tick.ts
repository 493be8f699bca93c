import { useEffect, useState } from 'react'

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
