import type { LiveTopic } from '../../../domain/durable/live.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'

const EVERY_MS = 500
const MOST_IDS = 50

type Tell = (topic: LiveTopic, environment: Environment, ids: readonly string[]) => void

/** Tells a change at once, and those that follow within half a second together after it. */
export function throttledTopics(tell: Tell) {
  const resting = new Map<string, { ids: Set<string> | null; timer: NodeJS.Timeout }>()

  function rest(key: string, topic: LiveTopic, environment: Environment): void {
    const timer = setTimeout(() => {
      const { ids } = resting.get(key)!
      resting.delete(key)
      if (ids === null) return
      tell(topic, environment, [...ids])
      rest(key, topic, environment)
    }, EVERY_MS).unref()
    resting.set(key, { ids: null, timer })
  }

  return {
    changed(topic: LiveTopic, environment: Environment, ids: readonly string[] = []): void {
      const key = `${topic} ${environment}`
      const waiting = resting.get(key)
      if (waiting) {
        waiting.ids ??= new Set()
        for (const id of ids) if (waiting.ids.size < MOST_IDS) waiting.ids.add(id)
        return
      }
      tell(topic, environment, ids.slice(0, MOST_IDS))
      rest(key, topic, environment)
    },
    stop(): void {
      for (const { timer } of resting.values()) clearTimeout(timer)
      resting.clear()
    },
  }
}
