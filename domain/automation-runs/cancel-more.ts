import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import { AT_ONCE, cancelNumbers } from './cancel.ts'
import { CANCEL_DUE, type LastingReason } from './cancel-later.ts'
import type { AutomationRun } from './load.ts'
import { AUTOMATION_RUN_DUE } from './wake.ts'

type Cancellation = { environment: Environment; automation_id: string; reason: LastingReason; after: number; upto: number }

// Through all promises of runs, once: by environment and automation each step would begin at the beginning.
const NEXT = `
  select d.id, exists (select 1 from automation_runs r where r.number = d.id and r.environment = $3 and r.automation_id = $4) as is_own
  from (select id from due where kind = '${AUTOMATION_RUN_DUE}' and id > $1 and id <= $2 order by id limit ${AT_ONCE}) d order by d.id`

/** Goes on with a cancellation, by as many promises as one transaction should look at. */
export const cancelMore = (pool: Pool, number: number): Promise<unknown> =>
  transaction(pool, async tx => {
    const held = await tx.query<Cancellation>(
      'select environment, automation_id, reason, after, upto from automation_cancellations where number = $1 for update',
      [number],
    )
    const row = held.rows[0]
    if (!row) return end(tx, number)
    const { environment, automation_id, reason, after, upto } = row
    const { rows } = await tx.query<{ id: number; is_own: boolean }>(NEXT, [after, upto, environment, automation_id])
    const own = rows.flatMap(({ id, is_own }) => (is_own ? [id] : []))
    await cancelNumbers(tx, environment, own, reason)
    if (rows.length < AT_ONCE) return end(tx, number)
    await tx.query('update automation_cancellations set after = $2 where number = $1', [number, rows.at(-1)!.id])
    await tx.query(`update due set lease_until = null where kind = '${CANCEL_DUE}' and id = $1`, [number])
  })

async function end(tx: Tx, number: number): Promise<void> {
  await tx.query('delete from automation_cancellations where number = $1', [number])
  await tx.query(`delete from due where kind = '${CANCEL_DUE}' and id = $1`, [number])
}

/** Cancels a claimed run that nobody may carry any more. False when it belongs to another worker by now. */
export const cancelClaimed = (pool: Pool, run: AutomationRun): Promise<boolean> =>
  transaction(pool, async tx => {
    const held = await tx.query(`select 1 from due where kind = '${AUTOMATION_RUN_DUE}' and id = $1 and fence = $2 for update`, [
      run.number,
      run.fence,
    ])
    if (held.rowCount === 0) return false
    const { rowCount } = await tx.query('select 1 from automations where environment = $1 and id = $2', [
      run.environment,
      run.automation_id,
    ])
    await cancelNumbers(tx, run.environment, [run.number], rowCount === 0 ? 'automation_deleted' : 'automation_inactive')
    return true
  })
