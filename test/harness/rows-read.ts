import type { Pool } from '../../store/connect.ts'

/** Rows and index entries of each table that were read so far, with all reads of these pools' own connections. */
export async function rowsRead(pools: Pool[], tables: readonly string[]): Promise<Record<string, number>> {
  for (const pool of pools) {
    const connections = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
    for (const connection of connections) {
      await connection.query('select pg_stat_force_next_flush()')
      connection.release()
    }
  }
  const { rows } = await pools[0]!.query<{ relname: string; n: number }>(
    `select t.relname, t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0)::bigint as n from pg_stat_user_tables t
     join pg_stat_user_indexes i using (relid) where t.relname = any ($1) group by t.relname, t.seq_tup_read`,
    [tables],
  )
  return Object.fromEntries(rows.map(({ relname, n }) => [relname, n]))
}
