import type { QueryResult } from 'pg'
import type { Pool } from '../../store/connect.ts'

/**
 * Executes one statement that inserts very many rows which refer to each other, and checks no reference: the checks are the larger part of its time.
 * The transaction is this statement's own.
 */
export async function insertUnchecked(pool: Pool, text: string, values: unknown[] = []): Promise<QueryResult> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('set local session_replication_role = replica')
    const result = await client.query(text, values)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
