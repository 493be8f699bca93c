import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { NotCredible, requireCredible, requireTime } from '../../../domain/purchases/store-facts/credible.ts'
import { inSequence, type StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import type { Promised } from '../../../domain/purchases/store-inbox/checks.ts'
import type { FailedRow, PendingRow } from '../../../domain/purchases/store-inbox/pending.ts'
import { messageOf } from '../../engine/policy.ts'
import type { StoreClient, StoreSettings } from '../store-client.ts'

export type ReadRow = {
  id: number
  environment: EnvironmentKind | null
  reports: StoreReport[]
  /** The store must be queried before the lineage is known. */
  refresh: boolean
  /** The changes that the answer of the store must show, by the notification at `at` (store time, ms). */
  promise: { promised: Promised; at: number } | null
}

/** `transactions`: the transactions that must be fetched from the store by id. */
export type ReadRows = {
  read: ReadRow[]
  ignored: { id: number }[]
  failed: FailedRow[]
  transactions: string[]
}

/** Verifies and decodes the content of notifications. An unreadable notification does not stop the others. */
export async function readNotifications(client: StoreClient, rows: readonly PendingRow[], settings: StoreSettings): Promise<ReadRows> {
  const result: ReadRows = { read: [], ignored: [], failed: [], transactions: [] }
  for (const { id, notificationId, type, subtype, statedAt, body } of rows) {
    try {
      // No webhook has verified what a sweep finds.
      requireTime('the notification', statedAt, Date.now())
      const read = await client.read({ id: notificationId, type, subtype, statedAt, body }, settings)
      if (read.is === 'ignored') {
        result.ignored.push({ id })
        continue
      }
      for (const report of read.reports) requireCredible(report, Date.now())
      const promise = read.promised ? { promised: read.promised, at: statedAt } : null
      result.read.push({ id, environment: read.environment, reports: inSequence(read.reports, id), refresh: read.refresh, promise })
      result.transactions.push(...(read.transactions ?? []))
    } catch (error) {
      const reason = messageOf(error, `reading the notification ${type}`)
      result.failed.push({ id, reason, isFinal: error instanceof NotCredible })
    }
  }
  return result
}
