import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from './environment.ts'

type StoredAnswer = { request_hash: Buffer; status: number; location: string | null; body: string | null }

const KEPT = `interval '24 hours'`

/** Locks the key for this transaction; false while another transaction has the lock. */
export async function tryLockKey(tx: Tx, environment: Environment, operation: string, key: string): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>('select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked', [
    `${environment}:${operation}:${key}`,
  ])
  return rows[0]!.locked
}

export async function findAnswer(db: Db, environment: Environment, operation: string, key: string): Promise<StoredAnswer | undefined> {
  const { rows } = await db.query<StoredAnswer>(
    `select request_hash, status, location, body from idempotent_answers
     where environment = $1 and operation = $2 and key = $3 and created_at > clock_timestamp() - ${KEPT}`,
    [environment, operation, key],
  )
  return rows[0]
}

/** Replaces an answer that is older than 24 h: its key counts as new. */
export async function storeAnswer(
  tx: Tx,
  environment: Environment,
  operation: string,
  key: string,
  answer: StoredAnswer & { user: string | null },
): Promise<void> {
  await tx.query(
    `insert into idempotent_answers (environment, operation, key, request_hash, status, location, body, user_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (environment, operation, key) do update set request_hash = excluded.request_hash, status = excluded.status,
       location = excluded.location, body = excluded.body, user_id = excluded.user_id, created_at = excluded.created_at`,
    [environment, operation, key, answer.request_hash, answer.status, answer.location, answer.body, answer.user],
  )
}

/** Removes answers that are older than 24 h; at most `batch` at once. An answer that a request replaces meanwhile stays. */
export async function dropOldAnswers(db: Db, batch: number): Promise<number> {
  const { rowCount } = await db.query(
    `with old as materialized (
       select environment, operation, key from idempotent_answers where created_at < now() - ${KEPT}
       order by created_at limit $1 for update skip locked
     )
     delete from idempotent_answers a using old o where a.environment = o.environment and a.operation = o.operation and a.key = o.key`,
    [batch],
  )
  return rowCount ?? 0
}
