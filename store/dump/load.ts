import { join } from 'node:path'
import { connect, type Tx } from '../connect.ts'
import { applyMigrations, knownMigrations, MIGRATION_LOCK, type Migration, programVersion, schemaVersion } from '../migrate.ts'
import { hasProjects, productSequences, productTables, quoted, type Table } from './catalogue.ts'
import { EXACT_TEXT, loadTable } from './copy.ts'
import { DumpRefused, type Manifest, tableFile } from './manifest.ts'

export type LoadOptions = {
  signal: AbortSignal
  /** What belongs to the rows but lies outside of the database; done right before the commit. */
  place: () => Promise<void>
  migrations?: Migration[]
}

/** Throws DumpRefused when the program is older than the dump. */
export async function refuseNewer(dir: string, { migration }: Manifest): Promise<void> {
  const newest = await programVersion()
  if (migration > newest)
    throw new DumpRefused(`${dir} was made by a newer program (version ${migration}, this one knows ${newest}): restore it with that one`)
}

/**
 * Fills an empty database in one transaction: the schema as far as the dump knows it, the rows, then the migrations made since. A
 * failure leaves the database as it was.
 */
export async function loadDump(url: string, dir: string, manifest: Manifest, options: LoadOptions): Promise<void> {
  const pool = connect({ url, max: 1, name: 'perennial-restore', statementTimeoutMs: 0 })
  try {
    const db = await pool.connect()
    let isDone = false
    try {
      // A service that starts meanwhile waits here for us, and then finds the projects.
      await db.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
      await db.query('begin')
      await db.query(`${EXACT_TEXT}; set local idle_in_transaction_session_timeout = 0`)
      await load(db, dir, manifest, options)
      await options.place()
      options.signal.throwIfAborted()
      await db.query('commit')
      isDone = true
      // The figures for the planner; the restore is whole without them.
      await db.query('analyze').catch(() => undefined)
    } finally {
      if (!isDone) await db.query('rollback').catch(() => undefined)
      db.release(true)
    }
  } finally {
    await pool.end()
  }
}

async function load(db: Tx, dir: string, manifest: Manifest, { signal, migrations }: LoadOptions): Promise<void> {
  if (await hasProjects(db)) throw new DumpRefused('the target is not empty: restore into a new DATA_DIR or an empty database')
  const known = migrations ?? (await knownMigrations())
  const version = await schemaVersion(db)
  if (version > manifest.migration)
    throw new DumpRefused(
      `the target was migrated to version ${version} already, the backup is of version ${manifest.migration}: restore it into a new DATA_DIR or database`,
    )
  await applyMigrations(
    db,
    known.filter(m => m.version > version && m.version <= manifest.migration),
  )
  await refuseOtherTables(await productTables(db), manifest)
  // A migration may have brought rows of its own: the dump has them too.
  await db.query(`truncate ${manifest.tables.map(({ name }) => `public.${quoted(name)}`).join(', ')}`)
  for (const table of manifest.tables) {
    const rows = await loadTable(db, table, join(dir, tableFile(table)), signal)
    if (rows !== table.rows) throw new DumpRefused(`${dir} is damaged: ${table.name} has ${rows} rows instead of ${table.rows}`)
  }
  await setSequences(db, manifest)
  await applyMigrations(
    db,
    known.filter(m => m.version > manifest.migration),
  )
  // Whoever held these does not exist here: the work is to be taken up at once.
  await db.query('update due set lease_until = null, batched_until = null where lease_until is not null or batched_until is not null')
}

async function refuseOtherTables(here: Table[], { tables, migration }: Manifest): Promise<void> {
  const described = (list: Table[]) => JSON.stringify(list.map(({ name, columns }) => [name, ...columns.toSorted()]).sort())
  if (described(here) !== described(tables)) throw new DumpRefused(`the backup's tables are not those of version ${migration}`)
}

// `alter sequence`, as `setval` is not undone with the transaction.
async function setSequences(db: Tx, { sequences }: Manifest): Promise<void> {
  const here = new Set((await productSequences(db)).map(({ name }) => name))
  for (const { name, next } of sequences) {
    if (!here.has(name) || !/^-?\d+$/.test(next)) throw new DumpRefused(`the backup's sequence ${name} is not one of its tables`)
    await db.query(`alter sequence public.${quoted(name)} restart with ${next}`)
  }
}
