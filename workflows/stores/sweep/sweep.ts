import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import type { FetchContext, NoAnswer, Swept } from '../store-client.ts'

/**
 * Times in ms. `isWhole` false: only notifications that the store could not deliver, if it can list them. A store may return more than was
 * requested.
 */
export type SweepRange = { fromMs: number; toMs: number; isWhole: boolean }

/** Queues that the store lists. `next`: the cursor of a later listing; null: the listing begins again. */
export type ListedQueues = { is: 'queues'; queues: string[]; next: string | null } | NoAnswer

/** `sinceMs`: only subscriptions that were created or changed since; null: all. `after`: a former `next`. */
export type QueueRange = { sinceMs: number | null; after: string | null }

/** How the sweep of a store fetches the notifications that no push has brought. */
export type Sweep = {
  /** How far back the store reports. */
  reachMs: Record<EnvironmentKind, number>
  /** Google has one API for both environments, and only its answer about a purchase names the environment. */
  isForBoth: boolean
  /**
   * `by_store`: the store lists the notifications that it could not deliver: these are fetched hourly, and all notifications once a day.
   * `all`: all notifications hourly.
   */
  hourly: 'by_store' | 'all'
  /** Whether the found notifications have the ids of the pushes. */
  isNamedAlike: boolean
  /** The length of the parts that are recorded one by one; absent: the whole interval at once. */
  sliceMs?: number
  /** Page by page, each with at most a few requests; ends after the first page without an answer. */
  pages(range: SweepRange, context: FetchContext): AsyncGenerator<Swept, void, void>
  /** For backfill: lists queues beyond the known lineages, page by page. Absent: the store has no such list. */
  queues?(range: QueueRange, context: FetchContext): AsyncGenerator<ListedQueues, void, void>
}

/** A store without an entry is not swept. */
export type Sweeps = Readonly<Partial<Record<StorePlatform, Sweep>>>
