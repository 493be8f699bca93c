import { setTimeout as pause } from 'node:timers/promises'

const PARTS = 10

/**
 * Waits for `ms` in which an answer would have been seen: in parts, so that no more than one of them passes while this process is blocked. Ends
 * at once with the signal. `ref`: whether it keeps the process.
 */
export async function patience(ms: number, { signal, ref = true }: { signal?: AbortSignal; ref?: boolean } = {}): Promise<void> {
  for (let n = 0; n < PARTS && !signal?.aborted; n++) await pause(ms / PARTS, undefined, { ref, ...(signal && { signal }) }).catch(() => {})
}
