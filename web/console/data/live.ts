import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { askAgain } from './ask-again.ts'
import { addressOf, usePlace } from './place.ts'

export type Topic = 'events' | 'runs' | 'deliveries' | 'reports' | 'exports' | 'facts'
/** `live`: a stream is open. `polling`: none for 10 s, the page asks by itself. `starting`: not known yet. */
export type LiveState = 'starting' | 'live' | 'polling'

const TOPICS: readonly Topic[] = ['events', 'runs', 'deliveries', 'reports', 'exports', 'facts']
/** Figures are expensive to compute: they follow at most so often, in ms. */
const AT_MOST: Record<Topic, number> = { events: 1_000, runs: 1_000, deliveries: 1_000, reports: 1_000, exports: 1_000, facts: 10_000 }
const NOT_LIVE_AFTER = 10_000
const POLL = 5_000

let state: LiveState = 'starting'
const listeners = new Set<() => void>()
function become(next: LiveState) {
  if (state === next) return
  state = next
  for (const listener of listeners) listener()
}

export const useLiveState = () =>
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => state,
  )

/** Asks again for what the page shows of a topic, at most as often as the topic allows: the first change at once, later ones together. */
function refresher(client: QueryClient) {
  const last = new Map<Topic, number>()
  const timers = new Map<Topic, ReturnType<typeof setTimeout>>()
  const ask = (topic: Topic) => {
    timers.delete(topic)
    last.set(topic, Date.now())
    void askAgain(client, ({ meta }) => (meta?.topics as readonly Topic[] | undefined)?.includes(topic) ?? false)
  }
  return {
    changed(topic: Topic) {
      const wait = (last.get(topic) ?? 0) + AT_MOST[topic] - Date.now()
      if (wait <= 0) ask(topic)
      else if (!timers.has(topic))
        timers.set(
          topic,
          setTimeout(() => ask(topic), wait),
        )
    },
    stop: () => timers.forEach(timer => void clearTimeout(timer)),
  }
}

/** Keeps one stream of changes for the project and environment of the address. A hidden tab has none: a browser opens six connections. */
export function useLive() {
  const place = usePlace()
  const client = useQueryClient()
  const address = place && `${addressOf(place)}/live?topics=${TOPICS.join(',')}`
  useEffect(() => {
    if (address === undefined) return
    const { changed, stop } = refresher(client)
    let source: EventSource | undefined
    let grace: ReturnType<typeof setTimeout> | undefined
    let isAgain = false
    const poll = setInterval(() => {
      if (state !== 'polling' || document.hidden) return
      for (const topic of TOPICS) changed(topic)
      if (source?.readyState === EventSource.CLOSED) open()
    }, POLL)
    const lost = () => {
      grace ??= setTimeout(() => become('polling'), NOT_LIVE_AFTER)
    }
    function open() {
      source?.close()
      if (document.hidden) return
      source = new EventSource(address!)
      source.onopen = () => {
        clearTimeout(grace)
        grace = undefined
        become('live')
        // What has changed while no stream was open nobody has told.
        if (isAgain) for (const topic of TOPICS) changed(topic)
        isAgain = true
      }
      source.onmessage = ({ data }) => {
        const topic = topicOf(String(data))
        if (topic !== undefined) changed(topic)
      }
      source.onerror = lost
    }
    const seen = () => {
      if (document.hidden) return source?.close()
      open()
      for (const topic of TOPICS) changed(topic)
    }
    lost()
    open()
    document.addEventListener('visibilitychange', seen)
    return () => {
      document.removeEventListener('visibilitychange', seen)
      clearInterval(poll)
      clearTimeout(grace)
      source?.close()
      stop()
      become('starting')
    }
  }, [address, client])
}

function topicOf(data: string): Topic | undefined {
  try {
    const { topic } = JSON.parse(data) as { topic?: string }
    return TOPICS.find(known => known === topic)
  } catch {
    return undefined
  }
}
