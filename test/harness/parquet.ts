import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance, DuckDBTimestampTZValue, type Json } from '@duckdb/node-api'

export type ParquetFile = {
  /** The types in the schema of the file, by column. */
  schema: { name: string; type: string; logical: string }[]
  rows: Record<string, Json>[]
}

/** The schema and rows of a Parquet file, read by DuckDB. */
export async function readParquet(bytes: Uint8Array): Promise<ParquetFile> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-parquet-'))
  const path = join(folder, 'file')
  await writeFile(path, bytes)
  const database = await DuckDBInstance.create(':memory:')
  // Otherwise DuckDB shows times in the zone of the machine.
  DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0
  const connection = await database.connect()
  const query = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson()
  try {
    const schema = await query(
      `select name, type, coalesce(logical_type, converted_type) as logical from parquet_schema('${path}') where type is not null`,
    )
    return { schema: schema as ParquetFile['schema'], rows: await query(`from read_parquet('${path}')`) }
  } finally {
    connection.closeSync()
    database.closeSync()
    await rm(folder, { recursive: true })
  }
}
