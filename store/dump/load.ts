import { join } from 'node:path'
import { applyMigrations } from '../apply-migration.ts'
import { connect, type Tx } from '../connect.ts'
import { takeMigrationLock } from '../migration-lock.ts'
import { appliedMigrations, knownMigrations, type Migration, newestOf, relationOf, requireKnown } from '../schema-history.ts'
import { hasProjects, identifier, productSequences, productTables, type Table } from './catalogue.ts'
import { EXACT_TEXT, loadTable } from './copy.ts'
import { DumpRefused, type Manifest, tableFile, unreleased } from './manifest.ts'

export type LoadOptions = {
  signal: AbortSignal
  /** Restores what belongs to the rows but is not in the database. Called right before the commit. */
  moveFiles: (db: Tx) => Promise<void>
  /** Changes rows that must not be as they were. Called when all are loaded and migrated. */
  settleRows?: (db: Tx) => Promise<void>
  /** Called with the size of each piece of the files of tables. */
  onBytes?: (bytes: number) => void
  migrations?: Migration[]
}

/** @throws DumpRefused when the program does not know the schema of the dump. */
export async function refuseUnknownSchema(dir: string, { migrations }: Manifest): Promise<void> {
  const known = await knownMigrations()
  const relation = relationOf(migrations, known)
  if (relation === 'newer')
    throw new DumpRefused(
      `${dir} was made by a newer program (version ${newestOf(migrations)}, this one knows ${newestOf(known)}): restore it with that one`,
    )
  if (relation === 'foreign') throw unreleased(dir)
}

/**
 * Fills an empty database in one transaction: the schema of the dump, the rows, then the migrations made since the dump. A failure
 * leaves the database as it was.
 */
export async function loadDump(url: string, dir: string, manifest: Manifest, options: LoadOptions): Promise<void> {
  const pool = connect({ url, max: 1, name: 'perennial-restore', statementTimeoutMs: 0 })
  try {
    const db = await pool.connect()
    let isDone = false
    try {
      // A service that starts meanwhile waits for this lock, and then finds the projects.
      await takeMigrationLock(db, 'exclusive', options.signal)
      await db.query('begin')
      await db.query(`${EXACT_TEXT}; set local idle_in_transaction_session_timeout = 0`)
      await load(db, dir, manifest, options)
      await options.settleRows?.(db)
      await options.moveFiles(db)
      options.signal.throwIfAborted()
      await db.query('commit')
      isDone = true
      // Statistics for the planner. The restore is complete without them.
      await db.query('analyze').catch(() => undefined)
    } finally {
      if (!isDone) await db.query('rollback').catch(() => undefined)
      db.release(true)
    }
  } finally {
    await pool.end()
  }
}

async function load(db: Tx, dir: string, manifest: Manifest, { signal, onBytes, migrations }: LoadOptions): Promise<void> {
  if (await hasProjects(db)) throw new DumpRefused('the target is not empty: restore into a new DATA_DIR or an empty database')
  const known = migrations ?? (await knownMigrations())
  const history = await appliedMigrations(db)
  const version = newestOf(manifest.migrations)
  if (relationOf(history, manifest.migrations) === 'newer')
    throw new DumpRefused(
      `the target was migrated to version ${newestOf(history)} already, the backup is of version ${version}: restore it into a new DATA_DIR or database`,
    )
  requireKnown(history, known, 'restore with the newer program')
  await applyMigrations(db, known.slice(history.length, manifest.migrations.length))
  await refuseOtherTables(await productTables(db), manifest)
  // A migration may insert rows of its own. The dump contains them too.
  await db.query(`truncate ${manifest.tables.map(({ name }) => `public.${identifier(name)}`).join(', ')}`)
  for (const table of manifest.tables) {
    const rows = await loadTable(db, table, join(dir, tableFile(table)), { signal, onBytes })
    if (rows !== table.rows) throw new DumpRefused(`${dir} is damaged: ${table.name} has ${rows} rows instead of ${table.rows}`)
  }
  await setSequences(db, manifest)
  await applyMigrations(db, known.slice(manifest.migrations.length))
  // The workers and batches that had these leases do not exist here: the jobs are due at once.
  await db.query('update due set lease_until = null, batched_until = null where lease_until is not null or batched_until is not null')
}

async function refuseOtherTables(here: Table[], { tables, migrations }: Manifest): Promise<void> {
  const described = (list: Table[]) => JSON.stringify(list.map(({ name, columns }) => [name, ...columns.toSorted()]).sort())
  if (described(here) !== described(tables)) throw new DumpRefused(`the backup's tables are not those of version ${newestOf(migrations)}`)
}

// `alter sequence`: a rollback does not undo `setval`.
async function setSequences(db: Tx, { sequences }: Manifest): Promise<void> {
  const here = new Set((await productSequences(db)).map(({ name }) => name))
  for (const { name, next } of sequences) {
    if (!here.has(name) || !/^-?\d+$/.test(next)) throw new DumpRefused(`the backup's sequence ${name} is not one of its tables`)
    await db.query(`alter sequence public.${identifier(name)} restart with ${next}`)
  }
}
