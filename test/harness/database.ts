import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connect, type Pool } from '../../store/connect.ts'
import { cloneTemplate, dropDatabase } from './suite-server.ts'

/** `debian`: that of the system's package, an older one. */
export const SERVERS = ['embedded', 'debian'] as const
export type TestServer = (typeof SERVERS)[number]

export type FreshDatabase = { url: string; server: TestServer; pool: Pool; drop(): Promise<void> }

/** A new database, migrated and empty. */
export async function freshDatabase(server: TestServer = 'embedded'): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  const at = inject(server)
  await cloneTemplate(at, name)
  const address = new URL(at.url)
  address.pathname = `/${name}`
  const pool = connect({ url: address.href, max: 5 })
  return {
    url: address.href,
    server,
    pool,
    async drop() {
      await pool.end()
      await dropDatabase(at, name)
    },
  }
}
