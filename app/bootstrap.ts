import { audit } from '../domain/kernel/audit/record.ts'
import { createFirstProject } from '../domain/projects/create.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { Pool } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import type { Config } from './config.ts'
import type { MadeKeys } from './first-keys.ts'

const NAME = 'My project'

/**
 * Creates the first project of an installation and returns the keys that it made; null when a project exists already. `keep` stores the keys
 * before the commit: a crash between the two leaves keys of no project, and the next start makes new ones. A crash after the commit loses none.
 */
export const bootstrap = (
  pool: Pool,
  secrets: Secrets,
  given: Config['bootstrap'],
  keep: (keys: MadeKeys) => Promise<void>,
): Promise<MadeKeys | null> =>
  transaction(pool, async tx => {
    const project = await createFirstProject(tx, secrets, { name: NAME, ...given })
    if (!project) return null
    const actor = { kind: 'system' as const, id: null }
    const trail = { project: project.id, environment: null, actor, operation: 'project create', requestId: null }
    await audit(tx, trail, { resource: 'project', id: String(project.id), after: { project_name: NAME } })
    const made = {
      secretKey: given.secretKey === undefined ? project.secretKey : undefined,
      projectKey: given.projectKey === undefined ? project.projectKey : undefined,
    }
    await keep(made)
    return made
  })
