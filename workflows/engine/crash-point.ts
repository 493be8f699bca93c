/** Where a process may die between two changes of the world; tests let it die there. */
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

/** Called at each named point; a test's may never return. */
export type AtCrashPoint = (point: CrashPoint) => void

export const NOWHERE: AtCrashPoint = () => {}
