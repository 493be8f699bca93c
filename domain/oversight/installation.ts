import type { Db } from '../../store/connect.ts'
import { appliedMigrations, newestOf } from '../../store/schema-history.ts'
import { type ListedWorker, listWorkers } from '../durable/jobs/workers.ts'

export type Installation = { database: { version: string; bytes: number; migration: number }; workers: ListedWorker[] }

/** What the database says of the installation as a whole. */
export async function readInstallation(db: Db): Promise<Installation> {
  const { rows } = await db.query<{ version: string; bytes: number }>(
    `select current_setting('server_version') as version, pg_database_size(current_database())::bigint as bytes`,
  )
  const migration = newestOf(await appliedMigrations(db))
  return { database: { ...rows[0]!, migration }, workers: await listWorkers(db) }
}
