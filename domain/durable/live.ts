import type { Db } from '../../store/connect.ts'
import { notifyAfterCommit } from '../../store/notify.ts'
import type { Environment } from '../kernel/environment.ts'

// Hints for people who watch: something of a topic has changed in an environment. What has changed they ask.

/** Postgres channel of the hints of workers. */
export const LIVE_CHANNEL = 'live'

export const LIVE_TOPICS = ['events', 'runs', 'deliveries', 'reports', 'exports', 'facts'] as const
export type LiveTopic = (typeof LIVE_TOPICS)[number]

/** Of the jobs of a kind, whatever its version; null: nobody watches them. */
export function liveTopicOf(kind: string): LiveTopic | null {
  const [name = ''] = kind.split('.')
  if (name.startsWith('automation-')) return 'runs'
  if (name === 'delivery' || name.startsWith('integration-')) return 'deliveries'
  if (name.startsWith('report-') || name === 'scheduled-report') return 'reports'
  return name.startsWith('export') || name === 'erase-export' ? 'exports' : null
}

export const announceLive = (db: Db, topic: LiveTopic, environment: Environment): void =>
  notifyAfterCommit(db, LIVE_CHANNEL, `${topic} ${environment}`)

/** Reads a hint; null: of a version that has other topics. */
export function liveHint(payload: string): { topic: LiveTopic; environment: Environment } | null {
  const [topic, environment] = payload.split(' ')
  return LIVE_TOPICS.includes(topic as LiveTopic) ? { topic: topic as LiveTopic, environment: Number(environment) } : null
}
