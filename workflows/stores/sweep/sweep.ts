import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import type { FetchContext, NoAnswer, Swept } from '../store-client.ts'

/** Times in ms. `isWhole` false: only what the store could not deliver, where it tells that. A store may tell more than was requested. */
export type SweepRange = { fromMs: number; toMs: number; isWhole: boolean }

/** Queues that the store lists. `next`: where a later listing goes on; null: it begins anew. */
export type ListedQueues = { is: 'queues'; queues: string[]; next: string | null } | NoAnswer

/** `sinceMs`: of subscriptions that were made or changed since; null: of all. `after`: a former `next`. */
export type QueueRange = { sinceMs: number | null; after: string | null }

/** How the sweep of a store fetches what no push has brought. */
export type Sweep = {
  /** How far back the store tells. */
  reachMs: Record<EnvironmentKind, number>
  /** Google has one address for both environments, and only its answer about a purchase tells the environment. */
  isForBoth: boolean
  /** `by_store`: the store tells what it could not deliver: that is asked for hourly, everything once a day. `all`: everything hourly. */
  hourly: 'by_store' | 'all'
  /** The ids of what is found are those of pushes. */
  isNamedAlike: boolean
  /** What is recorded before the sweep goes on; absent: the whole interval at once. */
  sliceMs?: number
  /** Page by page, each of at most a few requests; ends after the first answer that is none. */
  pages(range: SweepRange, context: FetchContext): AsyncGenerator<Swept, void, void>
  /** For backfill: what can be fetched beyond the lineages that are known, page by page. Absent: the store has no such list. */
  queues?(range: QueueRange, context: FetchContext): AsyncGenerator<ListedQueues, void, void>
}

/** A store without an entry is not swept. */
export type Sweeps = Readonly<Partial<Record<StorePlatform, Sweep>>>
