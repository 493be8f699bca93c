import { LOCK } from '../../store/advisory-locks.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { audit } from '../audit/record.ts'
import { createProject, type ProjectKeys } from './create.ts'
import { countProjects } from './list.ts'
import type { Secrets } from './seal.ts'

/** The first project of an installation; null when there is one already. Of several services that start at once one makes it. */
export const bootstrap = (
  pool: Pool,
  secrets: Secrets,
  keys: { secretKey: string | undefined; projectKey: string | undefined },
): Promise<ProjectKeys | null> =>
  transaction(pool, async tx => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK.bootstrap])
    if ((await countProjects(tx)) > 0) return null
    const name = 'My project'
    const made = await createProject(tx, secrets, { name, ...keys })
    const actor = { kind: 'system' as const, id: null }
    const trail = { project: made.id, environment: null, actor, operation: 'project create', requestId: null }
    await audit(tx, trail, { resource: 'project', id: String(made.id), after: { project_name: name } })
    return made
  })
