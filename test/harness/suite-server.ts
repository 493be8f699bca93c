import { connect, type Pool } from '../../store/connect.ts'
import { migrate } from '../../store/migrate.ts'
import { executeAll, grantsOf } from './superuser.ts'

/** A server of the suite. `url`: for the service's own role; `major`: its version. */
export type ServerAddress = { url: string; superuser: string; major: number }

const TEMPLATE = 'perennial_template'

/** Settings of a server for the whole suite, and the migrated template of which every test file clones a database of its own. */
export async function prepareServer({ url, superuser, major }: ServerAddress): Promise<void> {
  // No test ends these servers without a shutdown (the tests that do have servers of their own): nothing need reach the disk. The drop of
  // a database beside a busy disk took up to 30 s, because a checkpoint syncs everything first. And every new database is a checkpoint, after
  // which every page would be logged whole.
  const settings = ['fsync', 'full_page_writes'].map(name => `alter system set ${name} = off`)
  await executeAll(superuser, [...settings, 'select pg_reload_conf()', ...grantsOf(major)])
  await executeAll(url, [`create database ${TEMPLATE}`])
  const template = new URL(url)
  template.pathname = `/${TEMPLATE}`
  await migrate(template.href)
}

// A session for each address, kept for all test files of this process: a new one costs more than what it is wanted for.
const sessions = new Map<string, Pool>()

async function execute(url: string, statement: string): Promise<void> {
  const session = sessions.get(url) ?? connect({ url, max: 1 })
  sessions.set(url, session)
  await session.query(statement)
}

/** Creates a database from the template. Through the log, as Postgres does it by itself from 15 on, it takes eight times as long. */
export const cloneTemplate = ({ url, major }: ServerAddress, name: string): Promise<void> =>
  execute(url, `create database ${name} template ${TEMPLATE}${major < 15 ? '' : ' strategy file_copy'}`)

/** By the superuser: autovacuum may have a connection to the database. */
export const dropDatabase = ({ superuser }: ServerAddress, name: string): Promise<void> =>
  execute(superuser, `drop database ${name} with (force)`)
