import { LIVE_CHANNEL, type LiveTopic, liveHint } from '../../../domain/durable/live.ts'
import { LOG_CHANNEL } from '../../../domain/durable/log/consumer.ts'
import { FACTS_CHANNEL } from '../../../domain/durable/marks/mark.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import type { SessionOwner } from '../../../domain/operators/session-owner.ts'
import { stillWatching } from '../../../domain/operators/watching.ts'
import type { Pool } from '../../../store/connect.ts'
import { type Listener, startListener } from '../../../store/listener.ts'
import { Problem } from '../../errors.ts'
import { newEvents } from './new-events.ts'
import { throttledTopics } from './throttled-topics.ts'

export type LiveDeps = { checks: Pool; listing: Pool; databaseUrl: string }

/** `send`: of the topic something has changed, perhaps these. `end`: nothing more comes. */
export type Watcher = {
  owner: SessionOwner
  topics: ReadonlySet<LiveTopic>
  send(topic: LiveTopic, ids: readonly string[]): void
  end(): void
}

export type LiveHub = {
  /** Begins to tell; returns what ends it. Throws 429 where too many watch. After `close` it ends at once. */
  watch(watcher: Watcher): () => void
  close(): Promise<void>
}

const MOST_OF_OPERATOR = 20
const MOST = 500
const RETRY_SECONDS = '10'
/** A session or a role that has ended is noticed within this time. */
const CHECK_MS = 5_000
/** The pages have asked before the first connection: later than this it has missed something. */
const CONNECTED_MS = 500

const keyOf = ({ owner: { keyId, project } }: Watcher) => `${keyId} ${project}`

/**
 * Tells the watchers of this process what changes, as long as there are any: what workers announce over LISTEN, and the events that the log has gained.
 * Nothing is told for sure: a page asks by itself when it has heard nothing for long.
 */
export function liveHub({ checks, listing, databaseUrl }: LiveDeps): LiveHub {
  const watchers = new Set<Watcher>()
  const topics = throttledTopics((topic, environment, ids) => {
    for (const { owner, topics, send } of watchers) if (owner.environment === environment && topics.has(topic)) send(topic, ids)
  })
  const events = newEvents(
    listing,
    () => [...new Set([...watchers].filter(one => one.topics.has('events')).map(one => one.owner.environment))],
    (environment, ids) => topics.changed('events', environment, ids),
  )
  let listener: Listener | undefined
  let connectingSince = 0
  let isClosed = false
  let checking: NodeJS.Timeout | undefined

  /** What was announced while there was no connection nobody knows. */
  function tellAll(): void {
    if (performance.now() > connectingSince + CONNECTED_MS)
      for (const { owner, topics: watched } of watchers) for (const topic of watched) topics.changed(topic, owner.environment)
    connectingSince = Number.NEGATIVE_INFINITY
  }

  function lookAt(environment: number): void {
    const isWatched = ({ owner, topics: watched }: Watcher) => owner.environment === environment && watched.has('events')
    if ([...watchers].some(isWatched)) events.look()
  }

  function start(): void {
    const hear = (payload: string) => {
      const hint = liveHint(payload)
      if (hint) topics.changed(hint.topic, hint.environment)
    }
    const facts = (environment: string) => topics.changed('facts', Number(environment) as Environment)
    const log = (environment: string) => lookAt(Number(environment))
    connectingSince = performance.now()
    listener = startListener(databaseUrl, { [LIVE_CHANNEL]: hear, [FACTS_CHANNEL]: facts, [LOG_CHANNEL]: log }, tellAll)
    checking = setInterval(() => void check().catch(() => {}), CHECK_MS).unref()
    events.start()
  }

  async function stop(): Promise<void> {
    const last = listener
    listener = undefined
    clearInterval(checking)
    events.stop()
    await last?.stop()
  }

  async function check(): Promise<void> {
    const asked = [...watchers]
    const all = [...new Map(asked.map(one => [keyOf(one), { session: one.owner.keyId, project: one.owner.project }])).values()]
    const still = new Set((await stillWatching(checks, all)).map(({ session, project }) => `${session} ${project}`))
    for (const one of asked) if (!still.has(keyOf(one))) one.end()
  }

  return {
    watch(watcher) {
      if (isClosed) {
        watcher.end()
        return () => {}
      }
      const own = [...watchers].filter(({ owner }) => owner.operator === watcher.owner.operator).length
      if (own >= MOST_OF_OPERATOR || watchers.size >= MOST)
        throw new Problem('rate_limit_exceeded', 'too many pages watch at once', { headers: { 'Retry-After': RETRY_SECONDS } })
      watchers.add(watcher)
      if (listener) lookAt(watcher.owner.environment)
      else start()
      return () => {
        watchers.delete(watcher)
        if (watchers.size === 0) void stop()
      }
    },
    async close() {
      // Until the server closes, browsers whose stream has ended come back.
      isClosed = true
      for (const { end } of watchers) end()
      watchers.clear()
      topics.stop()
      await stop()
    },
  }
}
