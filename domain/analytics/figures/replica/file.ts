import { mkdir, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Db } from '../../../../store/connect.ts'
import { sqlText } from '../../../../store/files/duckdb.ts'
import type { Environment } from '../../../kernel/environment.ts'
import { isTaken } from './failure.ts'
import { PART } from './load-rows.ts'
import type { FileContent } from './pull.ts'
import { createTables, FORM } from './tables.ts'

/** Processes of one machine may share a folder. Each process has files of its own. */
const MOST_PROCESSES = 64

/** An attached file. `content`: null while its tables are empty. */
export type ReplicaFile = { path: string; schema: string; content: FileContent | null }

const ORIGIN = `select concat_ws(' ', (select oid from pg_database where datname = current_database()), e.id, extract(epoch from e.created_at)) as origin
  from environments e where e.id = $1`

/** Identifies the database and the environment of the facts; null: the environment is deleted. */
export async function originOf(db: Db, environment: Environment): Promise<string | null> {
  const { rows } = await db.query<{ origin: string }>(ORIGIN, [environment])
  return rows[0]?.origin ?? null
}

const fileName = (environment: Environment, n: number) => `${environment}-${FORM}-${n}.duckdb`

/** Removes the files with rows that a process was copying when it died. No other process uses the file. */
async function removeParts(path: string): Promise<void> {
  const [folder, file] = [dirname(path), basename(path)]
  const parts = (await readdir(folder)).filter(name => name.startsWith(`${file}.`) && name.endsWith(PART))
  await Promise.all(parts.map(name => rm(join(folder, name), { force: true })))
}

export const removeFile = (path: string): Promise<unknown> =>
  Promise.all([removeParts(path), ...[path, `${path}.wal`].map(name => rm(name, { force: true }))])

/** Prepares the folder and removes the files of earlier versions of the service. */
export async function prepareFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const old = (await readdir(folder)).filter(name => /\.(duckdb(\.wal)?|csv)$/.test(name) && !name.includes(`-${FORM}-`))
  await Promise.all(old.map(name => rm(join(folder, name), { force: true })))
}

/** Attaches the file of an environment; no other process has the file. A file that cannot be used is made anew. */
export async function attach(
  connection: DuckDBConnection,
  { folder, environment, origin }: { folder: string; environment: Environment; origin: string },
): Promise<ReplicaFile> {
  const schema = `facts_${environment}`
  for (let n = 0; n < MOST_PROCESSES; n++) {
    const path = join(folder, fileName(environment, n))
    try {
      await connection.run(`attach ${sqlText(path)} as ${schema}`)
      const content = await contentOf(connection, schema, origin)
      if (content !== undefined) {
        await removeParts(path)
        return { path, schema, content }
      }
      await connection.run(`detach ${schema}`)
    } catch (error) {
      if (isTaken(error)) continue
      await connection.run(`detach database if exists ${schema}`).catch(() => {})
    }
    await removeFile(path)
    return { path, schema, content: await create(connection, path, schema) }
  }
  throw new Error(`more than ${MOST_PROCESSES} processes use the folder ${folder}`)
}

async function create(connection: DuckDBConnection, path: string, schema: string): Promise<null> {
  try {
    await connection.run(`attach ${sqlText(path)} as ${schema}`)
    for (const statement of createTables(schema)) await connection.run(statement)
  } catch (error) {
    await connection.run(`detach database if exists ${schema}`).catch(() => {})
    await removeFile(path)
    throw error
  }
  return null
}

/** undefined: the file has facts of another database or environment, or was not filled completely. */
async function contentOf(connection: DuckDBConnection, schema: string, origin: string): Promise<FileContent | undefined> {
  const read = await connection.runAndReadAll(`select origin, generation, seq, as_of from ${schema}.replica_state`)
  const row = read.getRowObjects()[0]
  if (row?.origin !== origin) return undefined
  return { generation: Number(row.generation), seq: Number(row.seq), asOf: Number(row.as_of) }
}
