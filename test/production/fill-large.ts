import { connect } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { insertRows, LARGE_TABLES, withoutIndexes } from '../harness/large-tables.ts'

/**
 * Creates a project and fills every table that grows with traffic by so many of its rows, which are of no figure and of no job that is due. No
 * worker may be at work: tables are locked meanwhile. `cli`: the command line.
 */
export async function fillLarge(cli: (...args: string[]) => Promise<string>, url: string, count: number): Promise<void> {
  const [, project] = /^Project (\d+)/.exec(await cli('project', 'create', '--name', 'Large'))!
  const pool = connect({ url, max: 1, statementTimeoutMs: 0 })
  try {
    const { rows } = await pool.query<{ id: number }>(`select id from environments where project = $1 and kind = 'production'`, [project])
    for (const table of LARGE_TABLES) {
      await transaction(pool, async tx => {
        await tx.query(`set local maintenance_work_mem = '512MB'`)
        await withoutIndexes(tx, table, () => insertRows(tx, table, rows[0]!.id, 1, count))
      })
      await pool.query(`analyze ${table}`)
    }
  } finally {
    await pool.end()
  }
}
