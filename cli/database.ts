import { readConfig } from '../app/config.ts'
import { opensKeys, WRONG_SECRET } from '../domain/projects/keys.ts'
import { type Secrets, secretsFrom } from '../domain/projects/secrets.ts'
import { connect, type Pool } from '../store/connect.ts'
import { openDatabase } from '../store/open.ts'
import type { CommandContext } from './command.ts'
import { CliError } from './failure.ts'

/**
 * Opens the database of the installation as the service does. Stops an embedded server afterwards, unless another process uses it. `note`: gets a line
 * for each step of the opening. The signal ends a wait for a migration.
 */
export async function withDatabase<T>(
  { env, signal }: Pick<CommandContext, 'env' | 'signal'>,
  work: (pool: Pool, secrets: Secrets) => Promise<T>,
  note: CommandContext['note'] = () => {},
): Promise<T> {
  const config = readConfig(env)
  const opened = await openDatabase({ ...config, log: note, signal })
  try {
    const pool = connect({ url: opened.url, max: 2, name: 'perennial-cli', leaseMs: config.leaseMs })
    try {
      const secrets = secretsFrom(opened.appSecret)
      // The service could not open a key that is sealed with another secret.
      if (!(await opensKeys(pool, secrets))) throw new CliError(WRONG_SECRET)
      return await work(pool, secrets)
    } finally {
      await pool.end()
    }
  } finally {
    await opened.close()
  }
}
