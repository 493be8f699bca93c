import { announceLive, liveTopicOf } from '../domain/durable/live.ts'
import type { Environment } from '../domain/kernel/environment.ts'
import type { Pool } from '../store/connect.ts'

/** Nobody sees more than two changes a second. */
const EVERY_MS = 500

/** Tells people who watch that jobs of a kind have changed: at once, and then at most so often for a topic of an environment. */
export function liveNotices(pool: Pool): (kind: string, environment: Environment) => void {
  /** Whether something has changed since the latest notice. */
  const resting = new Map<string, boolean>()
  return (kind, environment) => {
    const topic = liveTopicOf(kind)
    if (topic === null) return
    const key = `${topic} ${environment}`
    if (resting.has(key)) return void resting.set(key, true)
    const tell = () => {
      announceLive(pool, topic, environment)
      resting.set(key, false)
      setTimeout(() => (resting.get(key) ? tell() : resting.delete(key)), EVERY_MS).unref()
    }
    tell()
  }
}
