import { setImmediate as othersFirst } from 'node:timers/promises'

/** What a fold goes through at a stretch takes a few ms: after it the requests and the heartbeats of the process have their turn. */
const ITEMS_AT_ONCE = 500

/** Counts items; what it returns is awaited, and lets the process do something else when there were enough of them. */
export function inSteps(): (items: number) => Promise<void> | undefined {
  let done = 0
  return items => {
    done += items
    if (done < ITEMS_AT_ONCE) return undefined
    done = 0
    return othersFirst()
  }
}

/** `flatMap`, in steps. */
export async function flatMapInSteps<T, R>(items: readonly T[], of: (item: T) => R | readonly R[]): Promise<R[]> {
  const found: R[] = []
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    if (from > 0) await othersFirst()
    found.push(...items.slice(from, from + ITEMS_AT_ONCE).flatMap(of))
  }
  return found
}

/** A computation that yields after each item. */
export type Stepwise<R> = Generator<void, R>

/** `flatMap`, as a part of such a computation. */
export function* flatMapStepwise<T, R>(items: Iterable<T>, of: (item: T) => readonly R[]): Stepwise<R[]> {
  const found: R[] = []
  for (const item of items) {
    found.push(...of(item))
    yield
  }
  return found
}

/** Its result, without a pause. */
export function withoutPauses<R>(computation: Stepwise<R>): R {
  for (;;) {
    const next = computation.next()
    if (next.done) return next.value
  }
}

/** Its result, computed in steps. `pause`: lets the process do something else. */
export async function stepwise<R>(computation: Stepwise<R>, pause: () => Promise<unknown> = othersFirst): Promise<R> {
  for (let done = 1; ; done++) {
    const next = computation.next()
    if (next.done) return next.value
    if (done % ITEMS_AT_ONCE === 0) await pause()
  }
}
