/** The points between two effects, or inside a transaction, at which a process may die or freeze; tests kill or stop it there. */
export type CrashPoint =
  | 'claimed'
  | 'before-effect'
  | 'after-effect'
  | 'recorded'
  | 'before-end'
  | 'ended'
  | 'consumed'
  | 'folded'
  | 'delivery-sent'
  | 'delivery-recorded'
  | 'queue-read'
  | 'store-fetched'
  | 'turn-recorded'
  | 'store-page-swept'
  | 'acknowledged'
  /** Inside a transaction of the worker's own pool: workflows, timers, steps. */
  | 'before-commit'
  /** Inside a transaction of the pool that plans once: consumers of the log, deliveries, steps. */
  | 'before-planned-commit'

/** Called at each named point. In a test it may never return. */
export type AtCrashPoint = (point: CrashPoint) => void

export const NOWHERE: AtCrashPoint = () => {}
