import type { Environment } from '../environment.ts'

/** A promise in this worker's hands: whoever records for it must show the same fence. */
export type Claimed = { kind: string; id: number; fence: number; environment: Environment; destination: number | null }
