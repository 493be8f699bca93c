import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { createProject, type ProjectKeys } from './create.ts'
import { countProjects } from './list.ts'
import type { Secrets } from './seal.ts'

const BOOTSTRAP_LOCK = 4_100

/** The first project of an installation; null when there is one already. Of several services that start at once one makes it. */
export const bootstrap = (
  pool: Pool,
  secrets: Secrets,
  keys: { secretKey: string | undefined; projectKey: string | undefined },
): Promise<ProjectKeys | null> =>
  transaction(pool, async tx => {
    await tx.query('select pg_advisory_xact_lock($1)', [BOOTSTRAP_LOCK])
    return (await countProjects(tx)) > 0 ? null : createProject(tx, secrets, { name: 'My project', ...keys })
  })
