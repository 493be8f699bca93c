import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from '../../store/connect.ts'

/** The address of the embedded server in `dataDir` for its superuser; `url`: that of the service's own role. */
export async function superuserUrl(dataDir: string, url: string): Promise<string> {
  const address = new URL(url)
  address.username = 'postgres'
  address.password = (await readFile(join(dataDir, 'postgres', 'superuser_password'), 'utf8')).trim()
  return address.href
}

/** Executes statements, each by itself, on a connection of their own. */
export async function executeAll(url: string, statements: string[]): Promise<void> {
  const pool = connect({ url, max: 1 })
  try {
    for (const statement of statements) await pool.query(statement)
  } finally {
    await pool.end()
  }
}

const ROLES = 'alter role perennial createdb createrole'
/** What tests do, and the product never does. */
export const TEST_GRANTS = [
  ROLES,
  'grant pg_checkpoint to perennial',
  'grant set on parameter deadlock_timeout to perennial',
  'grant set on parameter auto_explain.log_min_duration to perennial',
  'grant set on parameter session_replication_role to perennial',
]

/** The same for a server of that version: 14 grants nothing of it one by one. */
export const grantsOf = (major: number): string[] => (major < 15 ? [ROLES, 'alter role perennial superuser'] : TEST_GRANTS)

/** Executes statements as the superuser of the embedded server in `dataDir`; `url`: of the service's own role. */
export const asSuperuser = async (dataDir: string, url: string, statements: string[]): Promise<void> =>
  executeAll(await superuserUrl(dataDir, url), statements)
