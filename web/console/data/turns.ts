/** An environment has two turns for expensive reads; four of a page in flight keep both busy and leave connections for the rest. */
const AT_ONCE = 4
let free = AT_ONCE
const waiting: (() => void)[] = []

const isExpensive = (address: string) => /\/v4\/(analytics\/|segments\/preview)/.test(address)

/** Waits for a turn when the read is expensive. The caller calls the result when the request has ended. */
export async function turn(address: string, signal?: AbortSignal): Promise<() => void> {
  if (!isExpensive(address)) return () => {}
  if (free > 0) free--
  else await new Promise<void>(resolve => waiting.push(resolve))
  const release = () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  if (signal?.aborted) {
    release()
    throw signal.reason
  }
  return release
}
