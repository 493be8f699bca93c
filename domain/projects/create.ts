import type { Tx } from '../../store/connect.ts'
import { projectKey, secretKey } from '../../store/ids.ts'
import { PARTITIONS } from '../events/partition.ts'
import { hashKey, type Secrets } from './seal.ts'

export type ProjectKeys = { secretKey: string; projectKey: string }
export type NewProject = { name: string; secretKey?: string | undefined; projectKey?: string | undefined }

export const KEY_FORMS = { secret: /^sk_[A-Za-z0-9_-]{16,128}$/, project: /^[A-Za-z0-9_-]{32}$/ } as const

export type KeyKind = 'secret' | 'project' | 'api'

export async function storeKey(tx: Tx, secrets: Secrets, project: number, kind: KeyKind, key: string): Promise<void> {
  await tx.query('insert into keys (project, kind, hash, sealed) values ($1, $2, $3, $4)', [
    project,
    kind,
    hashKey(key),
    secrets.seal(key, `key:${project}:${kind}`),
  ])
}

/** A project with its two environments, their 64 log positions each, and its keys (random unless given). */
export async function createProject(tx: Tx, secrets: Secrets, input: NewProject): Promise<ProjectKeys & { id: number }> {
  const keys = { secretKey: input.secretKey ?? secretKey(), projectKey: input.projectKey ?? projectKey() }
  const { rows } = await tx.query<{ id: number }>('insert into projects (name) values ($1) returning id', [input.name])
  const id = rows[0]!.id
  await tx.query(
    `with made as (insert into environments (project, kind) values ($1, 'production'), ($1, 'sandbox') returning id)
     insert into log_positions (environment, partition) select made.id, p from made, generate_series(0, $2::int - 1) p`,
    [id, PARTITIONS],
  )
  await storeKey(tx, secrets, id, 'secret', keys.secretKey)
  await storeKey(tx, secrets, id, 'project', keys.projectKey)
  await storeKey(tx, secrets, id, 'api', projectKey())
  return { id, ...keys }
}
