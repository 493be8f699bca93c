import { useEffect, useRef, useState } from 'react'
import type { EventList } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { useRead } from '../../data/read.ts'

/**
 * The page of the log that the address names. The newest page follows the log, at most once a second and never with more rows than one page
 * has. `paused`: it stays as it is, and `newer` counts what has come since.
 */
export function useTail(query: Input<'v4ListEvents'>['query'], { follows, paused }: { follows: boolean; paused: boolean }) {
  const read = useRead('v4ListEvents', { query }, follows ? { topics: ['events'] } : {})
  const key = JSON.stringify(query)
  const [held, hold] = useState<{ key: string; page: EventList }>()
  if (!paused && held !== undefined) hold(undefined)
  if (paused && held?.key !== key && read.data !== undefined && !read.isPlaceholderData) hold({ key, page: read.data })
  const isHeld = paused && held?.key === key
  const known = new Set(isHeld ? held.page.data.map(({ id }) => id) : [])
  const newer = isHeld && read.data ? read.data.data.filter(({ id }) => !known.has(id)).length : 0
  return { read, page: isHeld ? held.page : read.data, newer, rate: useRate(read.isPlaceholderData ? undefined : read.data, key) }
}

export type Rate = { perSecond: number; isLeast: boolean }

const WINDOW = 10_000

/** How many events a second have come in the last ten seconds. A page of nothing but new events says only how many there were at least. */
function useRate(page: EventList | undefined, key: string): Rate | undefined {
  const before = useRef<{ key: string; ids: ReadonlySet<string> }>(undefined)
  const came = useRef<{ at: number; events: number; isLeast: boolean }[]>([])
  const [rate, setRate] = useState<Rate>()
  useEffect(() => {
    const sum = () => {
      came.current = came.current.filter(({ at }) => Date.now() - at < WINDOW)
      const events = came.current.reduce((total, answer) => total + answer.events, 0)
      const next = { perSecond: events / (WINDOW / 1_000), isLeast: came.current.some(({ isLeast }) => isLeast) }
      setRate(last => (last?.perSecond === next.perSecond && last.isLeast === next.isLeast ? last : next))
    }
    if (before.current?.key !== key) came.current = []
    if (page !== undefined) {
      const last = before.current?.key === key ? before.current.ids : undefined
      const events = last === undefined ? 0 : page.data.filter(({ id }) => !last.has(id)).length
      if (events > 0) came.current.push({ at: Date.now(), events, isLeast: page.has_more && events === page.data.length })
      before.current = { key, ids: new Set(page.data.map(({ id }) => id)) }
    }
    sum()
    const timer = setInterval(() => {
      if (!document.hidden) sum()
    }, 2_000)
    return () => clearInterval(timer)
  }, [page, key])
  return page === undefined ? undefined : rate
}
