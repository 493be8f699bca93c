import type { Batch } from '../domain/jobs/sweep.ts'

/**
 * The doorbell between the sweep and the workers. It carries hints only: what a lost ring stood for is rung again, one that arrives twice
 * was taken already. `onRing` resolves when the ring is taken, not when its runs end.
 */
export type Queue = {
  /** Announces what is due. Rejects when the driver is down. */
  announce(kind: string, rings: Batch[]): Promise<void>
  /** Each kind by itself: one whose slots are full must not hold up the others. */
  listen(kind: string, onBatch: (ring: Batch) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** What came through a queue, if it is a ring: those of an earlier version that are still on their way say nothing here. */
export function batchIn(data: unknown): Batch | null {
  const { number, count } = (data ?? {}) as Partial<Batch>
  return Number.isSafeInteger(number) && Number.isSafeInteger(count) && count! > 0 ? { number: number!, count: count! } : null
}
