import type { Batch } from '../domain/durable/jobs/sweep.ts'

/**
 * The way from the sweep to the workers. A message is only a hint: the jobs of a batch whose message is lost are dispatched again, and a
 * message that arrives twice finds that the batch is taken.
 */
export type Queue = {
  /** Tells the workers that the batches can be taken. Rejects when the driver is down. */
  announce(kind: string, batches: Batch[]): Promise<void>
  /** `onBatch` resolves when the batch is taken, not when its jobs end. Each kind by itself: a kind at its capacity holds up no other kind. */
  listen(kind: string, onBatch: (batch: Batch) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** The batch of a message. Null: a message of an earlier version that is still on its way. */
export function batchIn(data: unknown): Batch | null {
  const { number, count } = (data ?? {}) as Partial<Batch>
  return Number.isSafeInteger(number) && Number.isSafeInteger(count) && count! > 0 ? { number: number!, count: count! } : null
}
