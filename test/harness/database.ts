import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connect, type Pool } from '../../store/connect.ts'
import { TEMPLATE } from './postgres.ts'
import { executeAll } from './superuser.ts'

export type FreshDatabase = { url: string; pool: Pool; drop(): Promise<void> }

/** A new database, migrated and empty. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  // Through the log, as Postgres does it by itself, it takes eight times as long.
  await executeAll(inject('postgres'), [`create database ${name} template ${TEMPLATE} strategy file_copy`])
  const address = new URL(inject('postgres'))
  address.pathname = `/${name}`
  const pool = connect({ url: address.href, max: 5 })
  return {
    url: address.href,
    pool,
    async drop() {
      await pool.end()
      // By the superuser: autovacuum may have a connection to the database.
      await executeAll(inject('superuser'), [`drop database ${name} with (force)`])
    },
  }
}
