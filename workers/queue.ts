/**
 * The doorbell between the sweep and the workers. It carries hints only: a ring that is lost comes again, one that arrives twice
 * finds the row taken. `onRing` resolves when the rows are claimed, not when their runs end.
 */
export type Queue = {
  /** Announces that these runs are due. Rejects when the driver is down. */
  ring(kind: string, ids: number[]): Promise<void>
  /** Each kind by itself: one whose slots are full must not hold up the others. */
  listen(kind: string, onRing: (ids: number[]) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** Ids in one ring: enough to make the queue's cost per run small, few enough to spread over the workers. */
export const RING_SIZE = 200
