import { audit } from '../domain/audit/record.ts'
import { createFirstProject, type ProjectKeys } from '../domain/projects/create.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { Pool } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import type { Config } from './config.ts'

const NAME = 'My project'

/** Creates the first project of an installation and returns its keys; null when a project exists already. */
export const bootstrap = (pool: Pool, secrets: Secrets, keys: Config['bootstrap']): Promise<ProjectKeys | null> =>
  transaction(pool, async tx => {
    const made = await createFirstProject(tx, secrets, { name: NAME, ...keys })
    if (made) {
      const actor = { kind: 'system' as const, id: null }
      const trail = { project: made.id, environment: null, actor, operation: 'project create', requestId: null }
      await audit(tx, trail, { resource: 'project', id: String(made.id), after: { project_name: NAME } })
    }
    return made
  })
