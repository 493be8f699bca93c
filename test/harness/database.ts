import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connect, type Pool } from '../../store/connect.ts'
import { TEMPLATE } from './postgres.ts'

export type FreshDatabase = { url: string; pool: Pool; drop(): Promise<void> }

async function asAdmin(statement: string): Promise<void> {
  const pool = connect({ url: inject('postgres'), max: 1 })
  try {
    await pool.query(statement)
  } finally {
    await pool.end()
  }
}

/** A new database, migrated and empty. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  // Through the log, as Postgres does it by itself, it takes eight times as long.
  await asAdmin(`create database ${name} template ${TEMPLATE} strategy file_copy`)
  const address = new URL(inject('postgres'))
  address.pathname = `/${name}`
  const pool = connect({ url: address.href, max: 5 })
  return {
    url: address.href,
    pool,
    async drop() {
      await pool.end()
      await asAdmin(`drop database ${name} with (force)`)
    },
  }
}
