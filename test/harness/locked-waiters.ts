import type { Pool } from '../../store/connect.ts'

/** Locks a whole table: every statement that reads it waits until the release. */
export async function lockedWaiters(pool: Pool, table: string) {
  const connection = await pool.connect()
  await connection.query(`begin; lock table ${table} in access exclusive mode`)
  let isReleased = false
  return {
    /** The statements of this database that wait. */
    async count(): Promise<number> {
      const { rows } = await connection.query<{ n: number }>(
        `select count(distinct pid)::int as n from pg_locks where not granted and locktype = 'relation'
           and database = (select oid from pg_database where datname = current_database())`,
      )
      return rows[0]!.n
    },
    async release(): Promise<void> {
      if (isReleased) return
      isReleased = true
      await connection.query('commit')
      connection.release()
    },
  }
}
