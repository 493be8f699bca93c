import { join } from 'node:path'
import { connect, type Tx } from '../connect.ts'
import { DatabaseTooNew, MIGRATION_LOCK, programVersion, schemaVersion } from '../migrate.ts'
import { productSequences, productTables } from './catalogue.ts'
import { dumpTable, EXACT_TEXT } from './copy.ts'
import { type DumpedTable, DumpRefused, type Manifest, tableFile } from './manifest.ts'

export type Dumped = Pick<Manifest, 'created_at' | 'migration' | 'tables' | 'sequences'>
export type DumpOptions = {
  signal: AbortSignal
  /** Looks at the database before anything is written; what it throws ends the dump. */
  check: (db: Tx) => Promise<void>
  onTable?: (table: DumpedTable) => void
}

/** Writes every table as it was at one moment, without stopping anybody's work. */
export async function writeDump(url: string, dir: string, { signal, check, onTable }: DumpOptions): Promise<Dumped> {
  const pool = connect({ url, max: 1, name: 'perennial-backup', statementTimeoutMs: 0 })
  try {
    const db = await pool.connect()
    try {
      // Before the snapshot, for the time of the session: no migration changes a table between the catalogue and its rows.
      await db.query('select pg_advisory_lock_shared($1)', [MIGRATION_LOCK])
      await db.query('begin isolation level repeatable read read only')
      await db.query(EXACT_TEXT)
      const migration = await schemaVersion(db)
      if (migration === 0) throw new DumpRefused('there is nothing to back up: the database has no tables of Perennial')
      const newest = await programVersion()
      if (migration > newest)
        throw new DatabaseTooNew(
          `the database is at version ${migration}, this program knows version ${newest}: back it up with the newer program`,
        )
      await check(db)
      const { rows } = await db.query<{ now: string }>('select clock_timestamp() as now')
      const tables: DumpedTable[] = []
      for (const table of await productTables(db)) {
        const dumped = { ...table, ...(await dumpTable(db, table, join(dir, tableFile(table)), signal)) }
        tables.push(dumped)
        onTable?.(dumped)
      }
      const sequences = await productSequences(db)
      await db.query('commit')
      return { created_at: rows[0]!.now, migration, tables, sequences }
    } finally {
      db.release(true)
    }
  } finally {
    await pool.end()
  }
}
