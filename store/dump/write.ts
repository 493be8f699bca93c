import { join } from 'node:path'
import { connect, type Tx } from '../connect.ts'
import { takeMigrationLock } from '../migration-lock.ts'
import { appliedMigrations, knownMigrations, requireKnown } from '../schema-history.ts'
import { productSequences, productTables } from './catalogue.ts'
import { dumpTable, EXACT_TEXT } from './copy.ts'
import { type DumpedTable, DumpRefused, type Manifest, tableFile } from './manifest.ts'

export type Dumped = Pick<Manifest, 'created_at' | 'migrations' | 'tables' | 'sequences'>
export type DumpOptions = {
  signal: AbortSignal
  /** Called with the database before anything is written. An error that it throws ends the dump. */
  check: (db: Tx) => Promise<void>
  onTable?: (table: DumpedTable) => void
  /** `total`: the size of the tables on the disk, which their text is near to. */
  onProgress?: (done: number, total: number) => void
}

/** Writes every table as of one moment, while services continue to work. */
export async function writeDump(url: string, dir: string, { signal, check, onTable, onProgress }: DumpOptions): Promise<Dumped> {
  const pool = connect({ url, max: 1, name: 'perennial-backup', statementTimeoutMs: 0 })
  try {
    const db = await pool.connect()
    try {
      // Before the snapshot and for the whole session: no migration changes a table between the read of the catalogue and of the rows.
      await takeMigrationLock(db, 'shared', signal)
      await db.query('begin isolation level repeatable read read only')
      await db.query(EXACT_TEXT)
      const migrations = await appliedMigrations(db)
      if (migrations.length === 0) throw new DumpRefused('there is nothing to back up: the database has no tables of Perennial')
      requireKnown(migrations, await knownMigrations(), 'back it up with the newer program')
      await check(db)
      const { rows } = await db.query<{ now: string }>('select clock_timestamp() as now')
      const tables: DumpedTable[] = []
      const all = await productTables(db)
      const sizes = await tableSizes(db)
      const total = all.reduce((sum, { name }) => sum + (sizes.get(name) ?? 0), 0)
      let done = 0
      for (const table of all) {
        const size = sizes.get(table.name) ?? 0
        let bytes = 0
        const onBytes = (more: number) => {
          bytes += more
          onProgress?.(done + Math.min(bytes, size), total)
        }
        tables.push({ ...table, ...(await dumpTable(db, table, join(dir, tableFile(table)), { signal, onBytes })) })
        const dumped = tables.at(-1)!
        done += size
        onProgress?.(done, total)
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

/** In bytes on the disk, without indexes, by the name of the table; of a partitioned one all of its parts. */
async function tableSizes(db: Tx): Promise<Map<string, number>> {
  const { rows } = await db.query<{ name: string; bytes: number }>(
    `select c.relname as name, coalesce((select sum(pg_table_size(part.relid)) from pg_partition_tree(c.oid) part), pg_table_size(c.oid))::int8 as bytes
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
  )
  return new Map(rows.map(({ name, bytes }) => [name, bytes]))
}
