import { setImmediate as othersFirst } from 'node:timers/promises'

/** The items that a fold processes without a pause: a few ms. After that the process handles requests and heartbeats. */
const ITEMS_AT_ONCE = 500

/** Counts items; the caller awaits the returned value, which lets the process do other work after enough items. */
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

/** The result of a computation, without a pause. */
export function withoutPauses<R>(computation: Stepwise<R>): R {
  for (;;) {
    const next = computation.next()
    if (next.done) return next.value
  }
}

/** The result of a computation, in steps. `pause`: lets the process do other work. */
export async function stepwise<R>(computation: Stepwise<R>, pause: () => Promise<unknown> = othersFirst): Promise<R> {
  for (let done = 1; ; done++) {
    const next = computation.next()
    if (next.done) return next.value
    if (done % ITEMS_AT_ONCE === 0) await pause()
  }
}
