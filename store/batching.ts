import DataLoader from 'dataloader'
import { classify } from './failures.ts'

export type BatchingOptions = {
  /** Items of one flush at the most. */
  max?: number
  /** Flushes under way at the same time: one is worked on by the database while the next is being filled. */
  inFlight?: number
}

/** A deadlock is nobody's fault: the flush is repeated whole. */
const CONFLICT_TRIES = 3

/**
 * Group commit: what many callers write at the same moment travels in one statement. `flush` answers item by item, in order, and must
 * be all or nothing: when it fails, it is run again with halves of the items, until the bad one fails alone. When the database is
 * away or too slow, all callers hear of it instead.
 */
export function batching<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { max = 1_000, inFlight = 2 }: BatchingOptions = {},
): (item: Item) => Promise<Answer> {
  let underWay = 0
  const waiting: (() => void)[] = []

  const next = () => {
    while (underWay < inFlight && waiting.length > 0) {
      underWay++
      waiting.shift()!()
    }
  }

  async function halved(items: readonly Item[], triesLeft = CONFLICT_TRIES): Promise<(Answer | Error)[]> {
    try {
      const answers = await flush(items)
      if (answers.length !== items.length) throw new Error(`a flush of ${items.length} items gave ${answers.length} answers`)
      return [...answers]
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error))
      const kind = classify(error)
      if (kind === 'conflict' && triesLeft > 0) return halved(items, triesLeft - 1)
      if (kind === 'unavailable' || kind === 'timeout' || items.length === 1) return items.map(() => failure)
      const middle = items.length >> 1
      return [...(await halved(items.slice(0, middle))), ...(await halved(items.slice(middle)))]
    }
  }

  const loader = new DataLoader<Item, Answer>(
    items =>
      halved(items).finally(() => {
        underWay--
        next()
      }),
    {
      cache: false,
      maxBatchSize: max,
      // Not before the end of the tick, so that all that is ready goes along; nor while enough flushes are under way.
      batchScheduleFn: dispatch => {
        setImmediate(() => {
          waiting.push(dispatch)
          next()
        })
      },
    },
  )
  return item => loader.load(item)
}
