import type { Ring } from '../domain/jobs/sweep.ts'

/**
 * The doorbell between the sweep and the workers. It carries hints only: what a lost ring stood for is rung again, one that arrives twice
 * was taken already. `onRing` resolves when the ring is taken, not when its runs end.
 */
export type Queue = {
  /** Announces what is due. Rejects when the driver is down. */
  ring(kind: string, rings: Ring[]): Promise<void>
  /** Each kind by itself: one whose slots are full must not hold up the others. */
  listen(kind: string, onRing: (ring: Ring) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** What came through a queue, if it is a ring: those of an earlier version that are still on their way say nothing here. */
export function ringIn(data: unknown): Ring | null {
  const { number, count } = (data ?? {}) as Partial<Ring>
  return Number.isSafeInteger(number) && Number.isSafeInteger(count) && count! > 0 ? { number: number!, count: count! } : null
}
