import { join } from 'node:path'
import type { Role } from '../app/config.ts'
import { createProject, type ProjectKeys } from '../domain/projects/create.ts'
import { secretsFrom } from '../domain/projects/secrets.ts'
import { connect, type Pool } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import { type Running, run } from './process.ts'
import type { Resources } from './resources.ts'

const APP_SECRET = 'a secret that nobody needs to guess'

export type Product = Running & { url: string }

/** Starts one role of the product in its own process, as `npm start` does. The rate limiter is on; its limit is never reached. */
export async function startProduct(resources: Resources, database: string, role: Role, env: Record<string, string> = {}): Promise<Product> {
  const running = await run(resources, {
    name: `perennial-${role}`,
    script: new URL('../start.mjs', import.meta.url),
    env: {
      DATABASE_URL: database,
      APP_SECRET,
      ROLE: role,
      PORT: '0',
      CONSOLE: 'off',
      DATA_DIR: join(resources.folder, 'data'),
      RATE_LIMIT_PER_SECOND: '1000000',
      RATE_LIMIT_BURST: '10000000',
      ...env,
    },
    ready: role === 'worker' ? /Perennial worker is ready/ : /Perennial(?: analytics)? is ready at (\S+)/,
  })
  return { ...running, url: running.match[1]?.replace('localhost', '127.0.0.1') ?? '' }
}

/** A project; `environment` is its production environment. */
export type Tenant = ProjectKeys & { environment: number }

export const openPool = (resources: Resources, database: string, max = 4): Pool => {
  const pool = connect({ url: database, max, name: 'bench', statementTimeoutMs: 0 })
  resources.undo(() => pool.end())
  return pool
}

export async function createTenants(pool: Pool, count: number): Promise<Tenant[]> {
  const secrets = secretsFrom(APP_SECRET)
  const tenants: Tenant[] = []
  for (let n = 1; n <= count; n++) {
    const keys = await transaction(pool, tx => createProject(tx, secrets, { name: `Project ${n}` }))
    const { rows } = await pool.query<{ id: number }>(`select id from environments where project = $1 and kind = 'production'`, [keys.id])
    tenants.push({ ...keys, environment: rows[0]!.id })
  }
  return tenants
}
