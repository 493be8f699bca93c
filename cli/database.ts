import type { Config } from '../app/config.ts'
import { opensKeys, WRONG_SECRET } from '../domain/projects/keys.ts'
import { type Secrets, secretsFrom } from '../domain/projects/secrets.ts'
import { connect, type Pool } from '../store/connect.ts'
import { openDatabase } from '../store/open.ts'
import { CliError } from './failure.ts'

/** The installation's database, as the service opens it; an embedded server is stopped again unless somebody else uses it. */
export async function withDatabase<T>(config: Config, work: (pool: Pool, secrets: Secrets) => Promise<T>): Promise<T> {
  const opened = await openDatabase({ ...config, log: () => {} })
  try {
    const pool = connect({ url: opened.url, max: 2, name: 'perennial-cli' })
    try {
      const secrets = secretsFrom(opened.appSecret)
      // What is sealed with another secret cannot be shown by the service.
      if (!(await opensKeys(pool, secrets))) throw new CliError(WRONG_SECRET)
      return await work(pool, secrets)
    } finally {
      await pool.end()
    }
  } finally {
    await opened.close()
  }
}
