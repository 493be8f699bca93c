import type { Readiness } from '../../api/readiness.ts'

/** The readiness of a process without figures, for metrics that are read without a database. */
export const NO_READINESS: Readiness = {
  database: async () => 'ready',
  drift: async () => null,
  lastPushes: async () => null,
  driftAgeMs: () => null,
  isDraining: () => false,
  beginDraining() {},
}
