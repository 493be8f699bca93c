import { join } from 'node:path'
import { connect, type Tx } from '../connect.ts'
import { appliedMigrations, knownMigrations, MIGRATION_LOCK, requireKnown } from '../migrate.ts'
import { productSequences, productTables } from './catalogue.ts'
import { dumpTable, EXACT_TEXT } from './copy.ts'
import { type DumpedTable, DumpRefused, type Manifest, tableFile } from './manifest.ts'

export type Dumped = Pick<Manifest, 'created_at' | 'migrations' | 'tables' | 'sequences'>
export type DumpOptions = {
  signal: AbortSignal
  /** Called with the database before anything is written. An error that it throws ends the dump. */
  check: (db: Tx) => Promise<void>
  onTable?: (table: DumpedTable) => void
}

/** Writes every table as of one moment, while services continue to work. */
export async function writeDump(url: string, dir: string, { signal, check, onTable }: DumpOptions): Promise<Dumped> {
  const pool = connect({ url, max: 1, name: 'perennial-backup', statementTimeoutMs: 0 })
  try {
    const db = await pool.connect()
    try {
      // Before the snapshot and for the whole session: no migration changes a table between the read of the catalogue and of the rows.
      await db.query('select pg_advisory_lock_shared($1)', [MIGRATION_LOCK])
      await db.query('begin isolation level repeatable read read only')
      await db.query(EXACT_TEXT)
      const migrations = await appliedMigrations(db)
      if (migrations.length === 0) throw new DumpRefused('there is nothing to back up: the database has no tables of Perennial')
      requireKnown(migrations, await knownMigrations(), 'back it up with the newer program')
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
      return { created_at: rows[0]!.now, migrations, tables, sequences }
    } finally {
      db.release(true)
    }
  } finally {
    await pool.end()
  }
}
