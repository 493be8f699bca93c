import { isStorable } from '../../../domain/purchases/store-inbox/notification.ts'
import { LATE_MS, raiseIfUnpushed } from '../../../domain/purchases/store-inbox/push-missing.ts'
import { recordInTransaction } from '../../../domain/purchases/store-inbox/record.ts'
import type { StoreSweep } from '../../../domain/purchases/store-inbox/sweeps.ts'
import type { Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { SweptNotification } from '../store-client.ts'

/** The notifications of one transaction: a body may have 100 KiB. */
const AT_ONCE = 100

export type SweptEnvironment = Pick<StoreSweep, 'project' | 'platform' | 'environment'>

/**
 * `since`: older changes (ms) were reported before the store was connected, so no push could report them. null: missing pushes raise no
 * alert. `isNamedAlike`: see `Sweep`.
 */
export type Unpushed = { since: number; now: number; isNamedAlike: boolean; isForBoth: boolean } | null

/** Records a page of notifications that a sweep has found. Returns the number of new notifications; a repeat returns 0. */
export async function recordSwept(
  pool: Pool,
  { project, platform, environment }: SweptEnvironment,
  found: readonly SweptNotification[],
  unpushed: Unpushed,
): Promise<number> {
  const storable = found.filter(({ notification }) => isStorable(notification))
  let fresh = 0
  for (let at = 0; at < storable.length; at += AT_ONCE) {
    const items = storable.slice(at, at + AT_ONCE)
    fresh += await transaction(pool, async tx => {
      const rows = items.map(({ notification, body }) => ({
        ...notification,
        project,
        platform,
        body,
        contentType: 'application/json',
        source: 'sweep' as const,
      }))
      const recordedAs = await recordInTransaction(tx, rows)
      const recorded = items.flatMap(({ notification }, index) => (recordedAs[index] === 'recorded' ? [notification] : []))
      if (unpushed) {
        const late = recorded.filter(({ statedAt }) => statedAt > unpushed.since && statedAt < unpushed.now - LATE_MS)
        const of = { project, platform, environment: unpushed.isForBoth ? null : environment }
        // With the rows: a repeat of the sweep knows the notifications already, and would raise no alert.
        await raiseIfUnpushed(tx, of, late, unpushed.isNamedAlike)
      }
      return recorded.length
    })
  }
  return fresh
}
