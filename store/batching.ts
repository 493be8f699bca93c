import DataLoader from 'dataloader'
import { classifyFailure } from './failures.ts'
import { batchSpan, isTracing, storedTrace } from './tracing.ts'

export type BatchingOptions = {
  /** Of the span of a flush, as `record steps`; `flush` unless given. */
  name?: string
  /** Most items of one flush. */
  max?: number
  /** Flushes at the same time: while the database executes one, the next one is filled. */
  inFlight?: number
}

/** A deadlock is not the fault of an item: the whole flush is repeated. */
const CONFLICT_TRIES = 3

/**
 * Group commit: one statement carries what many callers write at the same moment. `flush` returns one answer for each item, in order (an
 * error is thrown to the item's caller), and must be all or nothing: a flush that fails is repeated with halves of its items, until the bad item fails alone. When the database is
 * unavailable or too slow, all callers of the flush get the error instead.
 */
export const batching = <Item, Answer>(flush: Flush<Item, Answer>, options: BatchingOptions = {}): ((item: Item) => Promise<Answer>) =>
  isTracing() ? traced(flush, options) : flushing(flush, options)

type Flush<Item, Answer> = (items: readonly Item[]) => Promise<readonly (Answer | Error)[]>

/** A flush is executed in the context of its first caller, whose trace it would become a part of. */
function traced<Item, Answer>(flush: Flush<Item, Answer>, options: BatchingOptions): (item: Item) => Promise<Answer> {
  const { name = 'flush' } = options
  const add = flushing<{ item: Item; trace: string | null }, Answer>(
    entries =>
      batchSpan(
        name,
        () => entries.map(({ trace }) => trace),
        () => flush(entries.map(({ item }) => item)),
      ),
    options,
  )
  return item => add({ item, trace: storedTrace() })
}

function flushing<Item, Answer>(
  flush: Flush<Item, Answer>,
  { max = 1_000, inFlight = 2 }: BatchingOptions,
): (item: Item) => Promise<Answer> {
  let running = 0
  const waiting: (() => void)[] = []

  const startNext = () => {
    while (running < inFlight && waiting.length > 0) {
      running++
      waiting.shift()!()
    }
  }

  async function bisect(items: readonly Item[], triesLeft = CONFLICT_TRIES): Promise<(Answer | Error)[]> {
    try {
      const answers = await flush(items)
      if (answers.length !== items.length) throw new Error(`a flush of ${items.length} items gave ${answers.length} answers`)
      return [...answers]
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error))
      const kind = classifyFailure(error)
      if (kind === 'conflict' && triesLeft > 0) return bisect(items, triesLeft - 1)
      if (kind === 'unavailable' || kind === 'timeout' || items.length === 1) return items.map(() => failure)
      const middle = items.length >> 1
      return [...(await bisect(items.slice(0, middle))), ...(await bisect(items.slice(middle)))]
    }
  }

  const loader = new DataLoader<Item, Answer>(
    items =>
      bisect(items).finally(() => {
        running--
        startNext()
      }),
    {
      cache: false,
      maxBatchSize: max,
      // At the end of the tick, so that every item that is ready joins; and not while `inFlight` flushes run.
      batchScheduleFn: start => {
        setImmediate(() => {
          waiting.push(start)
          startNext()
        })
      },
    },
  )
  return item => loader.load(item)
}

/** The same for each key by itself: a flush has items of one key alone. */
export function batchingByKey<Item, Answer>(
  keyOf: (item: Item) => string,
  flush: Flush<Item, Answer>,
  options?: BatchingOptions,
): (item: Item) => Promise<Answer> {
  const ofKeys = new Map<string, { add: (item: Item) => Promise<Answer>; under: number }>()
  return async item => {
    const key = keyOf(item)
    const of = ofKeys.get(key) ?? { add: batching(flush, options), under: 0 }
    ofKeys.set(key, of)
    of.under++
    try {
      return await of.add(item)
    } finally {
      if (--of.under === 0) ofKeys.delete(key)
    }
  }
}
