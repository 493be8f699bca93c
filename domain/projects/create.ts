import { LOCK } from '../../store/advisory-locks.ts'
import type { Db, Tx } from '../../store/connect.ts'
import { projectKey, secretKey } from '../../store/ids.ts'
import { PARTITIONS } from '../durable/log/partition.ts'
import { FOLD_VERSION } from '../durable/marks/mark.ts'
import { storeKey } from './keys.ts'
import type { Secrets } from './secrets.ts'

export type ProjectKeys = { secretKey: string; projectKey: string }
type NewProject = { name: string; secretKey?: string | undefined; projectKey?: string | undefined }

async function countProjects(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>('select count(*)::int as n from projects')
  return rows[0]!.n
}

/** Creates a project, its two environments with 64 log positions each, and its keys (random unless given). */
export async function createProject(tx: Tx, secrets: Secrets, input: NewProject): Promise<ProjectKeys & { id: number }> {
  const keys = { secretKey: input.secretKey ?? secretKey(), projectKey: input.projectKey ?? projectKey() }
  const { rows } = await tx.query<{ id: number }>('insert into projects (name) values ($1) returning id', [input.name])
  const id = rows[0]!.id
  await tx.query(
    `with created as (insert into environments (project, kind) values ($1, 'production'), ($1, 'sandbox') returning id),
     states as (insert into fact_state (environment, fold_version) select id, $3 from created)
     insert into log_positions (environment, partition) select created.id, p from created, generate_series(0, $2::int - 1) p`,
    [id, PARTITIONS, FOLD_VERSION],
  )
  await storeKey(tx, secrets, id, 'secret', keys.secretKey)
  await storeKey(tx, secrets, id, 'project', keys.projectKey)
  await storeKey(tx, secrets, id, 'api', projectKey())
  return { id, ...keys }
}

/** The first project of an installation; null when there is a project already. Of several services that start at once, one creates it. */
export async function createFirstProject(tx: Tx, secrets: Secrets, input: NewProject): Promise<(ProjectKeys & { id: number }) | null> {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCK.bootstrap])
  return (await countProjects(tx)) > 0 ? null : createProject(tx, secrets, input)
}
