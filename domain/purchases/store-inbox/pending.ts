import type { Db, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/** A row to be read. `statedAt`: store time in ms. `recordedMs`: when it was recorded, real time in ms. */
export type PendingRow = {
  id: number
  notificationId: string
  type: string
  subtype: string | null
  statedAt: number
  recordedMs: number
  environment: Environment | null
  body: Buffer
  attempts: number
}

const COLUMNS = `id, notification_id as "notificationId", type, subtype, stated_at as "statedAt", environment, body, attempts,
  extract(epoch from received_at)::float8 * 1000 as "recordedMs"`

// Rows that have failed are left out while others wait: one bad row must not stop its neighbours.
const TAKE = `
  select ${COLUMNS} from store_inbox where lane = $1 and state = 'pending' and attempts = 0 order by stated_at, id limit $2`
const TAKE_ALONE = `
  select ${COLUMNS} from store_inbox where lane = $1 and state = 'pending' and attempts > 0 and next_attempt_at <= clock_timestamp()
  order by next_attempt_at, id limit 1`

/**
 * The rows of a queue's turn, by store time, at most `limit`; when no others are left, one row that could not be read or applied before,
 * alone. The caller has claimed the job of the queue: no other transaction changes its pending rows.
 */
export async function takePending(db: Db, queue: number, limit: number): Promise<PendingRow[]> {
  const { rows } = await db.query<PendingRow>({ name: 'take-pending-notifications', text: TAKE, values: [queue, limit] })
  if (rows.length > 0) return rows
  return (await db.query<PendingRow>({ name: 'take-failed-notification', text: TAKE_ALONE, values: [queue] })).rows
}

/** `environment`: that of the notification, now known; null: it stays as it is. */
export type FinishedRow = { id: number; state: 'done' | 'ignored'; environment: Environment | null }

/** Call it in the transaction that applies the content of the rows, after the lock of the fence. */
export async function finishRows(tx: Tx, rows: readonly FinishedRow[]): Promise<void> {
  await tx.query({
    name: 'finish-notifications',
    text: `update store_inbox i set state = f.state, environment = coalesce(f.environment, i.environment), next_attempt_at = null, reason = null
           from unnest($1::bigint[], $2::text[], $3::int[]) f(id, state, environment) where i.id = f.id and i.state = 'pending'`,
    values: [rows.map(({ id }) => id), rows.map(({ state }) => state), rows.map(({ environment }) => environment)],
  })
}

/** Seconds before the 2nd … 5th attempt with a row that could not be read or applied; it is set aside after that. */
const POISON_WAITS = [10, 60, 300, 1800]

/** Why a row could not be read or applied, in words without a part of the body. `isFinal`: no repeat helps. */
export type FailedRow = { id: number; reason: string; isFinal?: boolean }

/** Records that rows could not be read or applied: each is tried alone later, or set aside. Returns those that were set aside. */
export async function failRows(tx: Tx, failed: readonly FailedRow[]): Promise<FailedRow[]> {
  const setAside: FailedRow[] = []
  for (const row of failed) if ((await failRow(tx, row)) === 'set_aside') setAside.push(row)
  return setAside
}

async function failRow(tx: Tx, { id, reason, isFinal = false }: FailedRow): Promise<'pending' | 'set_aside'> {
  const { rows } = await tx.query<{ state: 'pending' | 'set_aside' }>({
    name: 'fail-notification',
    text: `update store_inbox set attempts = attempts + 1, reason = $2,
             state = case when $4 or attempts >= cardinality($3::int[]) then 'set_aside' else state end,
             next_attempt_at = case when not $4 then clock_timestamp() + make_interval(secs => ($3::int[])[attempts + 1]) end
           where id = $1 and state = 'pending' returning state`,
    values: [id, reason, POISON_WAITS, isFinal],
  })
  return rows[0]?.state ?? 'pending'
}

/** Sets aside every pending row of a queue: the store has answered nothing for too long. Returns them. */
export async function setAsidePending(tx: Tx, queue: number, reason: string): Promise<FailedRow[]> {
  const { rows } = await tx.query<{ id: number }>({
    name: 'set-aside-notifications',
    text: `update store_inbox set state = 'set_aside', reason = $2, next_attempt_at = null where lane = $1 and state = 'pending' returning id`,
    values: [queue, reason],
  })
  return rows.map(({ id }) => ({ id, reason }))
}

const KEPT_DAYS = 90

/**
 * Removes rows that are done or ignored, 90 days after they came; at most `batch` at once. Rows that are set aside stay until an operator
 * resolves them.
 */
export async function dropOldNotifications(db: Db, batch: number): Promise<number> {
  const { rowCount } = await db.query(
    `with old as materialized (
       select id from store_inbox where state in ('done', 'ignored') and received_at < now() - make_interval(days => $1)
       order by received_at limit $2 for update skip locked
     )
     delete from store_inbox where id = any (array(select id from old))`,
    [KEPT_DAYS, batch],
  )
  return rowCount ?? 0
}
