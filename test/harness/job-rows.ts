// Rows of jobs, inserted as the engine leaves them, each in one transaction: for tests of what reads all jobs of an environment.
import type { Pool, Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'

/** `at` (ISO): when the job was created or is due. `status`, `reason`: as stored. `user`: its owner. `dueAt`: the time of its `due` row, if any. */
export type JobRow = { at: string; status: string; reason?: string | null; user?: string | null; dueAt?: string | null }

const insertDue = async (tx: Tx, environment: number, kind: string, number: number, dueAt: string | null | undefined) => {
  if (dueAt) await tx.query('insert into due (kind, id, environment, due_at) values ($1, $2, $3, $4)', [kind, number, environment, dueAt])
}

const FINAL = ['succeeded', 'failed', 'cancelled', 'skipped', 'delivered']
const endOf = ({ at, status }: JobRow) => (FINAL.includes(status) ? at : null)

export type RunRow = JobRow & { automation?: string; started?: boolean; endedAt?: string; replayOf?: string }
export const runRow = (pool: Pool, environment: number, row: RunRow): Promise<{ id: string; number: number }> =>
  transaction(pool, async tx => {
    const id = orderedId('run')
    const { rows } = await tx.query<{ number: number }>(
      `insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
       log_offset, position, status, reason, due_at, created_at, started_at, finished_at, replay_of)
     values ($1, $2::text, $3, 1, $4, $2::text, 'opened', $5, $5, 0, 0, 0, $6, $7, $8, $5, $9, $10, $11) returning number`,
      [
        environment,
        id,
        row.automation ?? 'auto_a',
        row.user ?? null,
        row.at,
        row.status,
        row.reason ?? null,
        row.dueAt ?? null,
        row.started ? row.at : null,
        row.endedAt ?? endOf(row),
        row.replayOf ?? null,
      ],
    )
    const { number } = rows[0]!
    await insertDue(tx, environment, 'automation-run', number, row.dueAt)
    return { id, number }
  })

/** Inserts an integration and returns its number. */
export async function integrationRow(pool: Pool, environment: number, active: 0 | 1 | 2 = 1): Promise<number> {
  const { rows } = await pool.query<{ number: number }>(
    `insert into integrations (environment, id, slug, title, target_platform, active, created_at, updated_at)
     values ($1, $2, 'webhooks', 'Hook', 'iOS', $3, now(), now()) returning number`,
    [environment, orderedId('int'), active],
  )
  return rows[0]!.number
}

export type DeliveryRow = JobRow & { integration: number; endedAt?: string; source?: 'event' | 'automation' }
export const deliveryRow = (pool: Pool, environment: number, row: DeliveryRow): Promise<{ id: string; number: number }> =>
  transaction(pool, async tx => {
    const id = orderedId('dlv')
    const { rows } = await tx.query<{ number: number }>(
      `insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, status, reason,
       next_attempt_at, delivered_at, ended_at, created_at)
     values ($1, $2::text, $3, $10, $2::text, 'opened', $4, 0, 0, $5, $6, $7, case when $5 = 'delivered' then $8::timestamptz end, $9, $8)
     returning number`,
      [
        environment,
        id,
        row.integration,
        row.user ?? null,
        row.status,
        row.reason ?? null,
        row.dueAt ?? null,
        row.at,
        row.endedAt ?? endOf(row),
        row.source ?? 'event',
      ],
    )
    const { number } = rows[0]!
    await insertDue(tx, environment, 'delivery', number, row.dueAt)
    return { id, number }
  })

/** Inserts a delivery of the integration that was delivered just now; returns its id. */
export async function endedDelivery(pool: Pool, integration: string): Promise<string> {
  const { rows } = await pool.query<{ number: number; environment: number }>('select number, environment from integrations where id = $1', [
    integration,
  ])
  const { number, environment } = rows[0]!
  const { id } = await deliveryRow(pool, environment, { integration: number, at: new Date().toISOString(), status: 'delivered' })
  return id
}

/** `status`: an outcome, pending or running. */
export async function slotRow(pool: Pool, environment: number, row: JobRow & { report?: string }): Promise<string> {
  const id = orderedId('rrn')
  const open = row.status === 'pending' || row.status === 'running'
  await pool.query(
    `insert into report_runs (environment, id, report_id, kind, slot, status, outcome, reason, created_at, finished_at)
     values ($1, $2, $3, 'scheduled', $4, $5, $6, $7, $4, $8)`,
    [
      environment,
      id,
      row.report ?? orderedId('rep'),
      row.at,
      open ? row.status : 'finished',
      open ? null : row.status,
      row.reason ?? null,
      open ? null : row.at,
    ],
  )
  return id
}

export async function exportRow(pool: Pool, environment: number, row: JobRow & { reportRun?: string }): Promise<string> {
  const id = orderedId('exp')
  await pool.query(
    `insert into exports (environment, id, status, type, format, compression, from_timestamp, to_timestamp, window_from, window_to,
       from_offsets, to_offsets, created_at, error, report_run)
     values ($1, $2, $3, 'events', 'csv', 'none', $4, $4, $4, $4, '{}', '{}', $4, $5, $6)`,
    [
      environment,
      id,
      row.status,
      row.at,
      row.reason ? JSON.stringify({ code: row.reason, message: 'broken' }) : null,
      row.reportRun ?? null,
    ],
  )
  return id
}
