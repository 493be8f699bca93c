/** The points between two effects at which a process may die; tests kill it there. */
export type CrashPoint =
  | 'claimed'
  | 'before-effect'
  | 'after-effect'
  | 'recorded'
  | 'before-end'
  | 'ended'
  | 'consumed'
  | 'delivery-sent'
  | 'delivery-recorded'

/** Called at each named point. In a test it may never return. */
export type AtCrashPoint = (point: CrashPoint) => void

export const NOWHERE: AtCrashPoint = () => {}
