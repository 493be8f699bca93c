import type { Db, Tx } from '../../store/connect.ts'
import { notFound } from '../refusal.ts'
import type { KeyKind } from './keys.ts'
import type { Secrets } from './secrets.ts'

export type ProjectSettings = { project_name: string; proxy_url: string | null; rtdn_proxy_url: string | null }
export type ProjectKeysInClear = Record<KeyKind, string>

const SETTINGS = 'name as project_name, proxy_url, rtdn_proxy_url'

/** The key of a kind that is in force, sealed: of the Secret Keys the one that no rotation has ended. */
const sealed = (kind: KeyKind) =>
  `(select sealed from keys where project = projects.id and kind = '${kind}' and expires_at is null order by id desc limit 1)`

export const openKey = (secrets: Secrets, project: number, kind: KeyKind, key: Buffer): string =>
  secrets.open(key, `key:${project}:${kind}`)

type Row = ProjectSettings & Record<KeyKind, Buffer>

export async function getSettings(db: Db, secrets: Secrets, project: number): Promise<ProjectSettings & { keys: ProjectKeysInClear }> {
  const { rows } = await db.query<Row>(
    `select ${SETTINGS}, ${sealed('secret')} as secret, ${sealed('project')} as project, ${sealed('api')} as api from projects where id = $1`,
    [project],
  )
  const { secret, project: projectKey, api, ...settings } = rows[0]!
  const open = (kind: KeyKind, key: Buffer) => openKey(secrets, project, kind, key)
  return { ...settings, keys: { secret: open('secret', secret), project: open('project', projectKey), api: open('api', api) } }
}

/** Writes what is given; `isChanged` false when it says nothing new. */
export async function updateSettings(
  tx: Tx,
  project: number,
  given: Partial<ProjectSettings>,
): Promise<{ before: ProjectSettings; after: ProjectSettings; isChanged: boolean }> {
  const { rows } = await tx.query<ProjectSettings>(`select ${SETTINGS} from projects where id = $1 for no key update`, [project])
  const before = rows[0]!
  const after = { ...before, ...given }
  const isChanged = JSON.stringify(before) !== JSON.stringify(after)
  if (isChanged) {
    await tx.query('update projects set name = $2, proxy_url = $3, rtdn_proxy_url = $4 where id = $1', [
      project,
      after.project_name,
      after.proxy_url,
      after.rtdn_proxy_url,
    ])
  }
  return { before, after, isChanged }
}

export type ProjectRow = { id: number; name: string; raw_data: boolean; created_at: string; users: number; last_event_at: string | null }

/** All projects of the installation, oldest first (for the operator; no key opens this). */
export async function listProjects(db: Db): Promise<ProjectRow[]> {
  const { rows } = await db.query<ProjectRow>(
    `select p.id, p.name, p.raw_data, p.created_at,
       (select count(*) from users u join environments e on e.id = u.environment where e.project = p.id and e.kind = 'production') as users,
       (select max(case when l.next_offset > 0 then l.last_received_at end)
          from log_positions l join environments e on e.id = l.environment where e.project = p.id) as last_event_at
     from projects p order by p.id`,
  )
  return rows
}

/** Switches raw data (exports, reports) of a project on or off; returns whether it was on. */
export async function setRawData(tx: Tx, project: number, on: boolean): Promise<boolean> {
  const { rows } = await tx.query<{ raw_data: boolean }>('select raw_data from projects where id = $1 for no key update', [project])
  if (!rows[0]) throw notFound(`project ${project}`)
  const { raw_data: before } = rows[0]
  if (before !== on) await tx.query('update projects set raw_data = $2 where id = $1', [project, on])
  return before
}

export const TRANSFER_POLICIES = ['keep', 'transfer', 'share'] as const
export type TransferPolicy = (typeof TRANSFER_POLICIES)[number]

/** What becomes of a purchase that another user of the project claims. Returns the policy before. */
export async function setTransferPolicy(tx: Tx, project: number, policy: TransferPolicy): Promise<TransferPolicy> {
  const { rows } = await tx.query<{ transfer_policy: TransferPolicy }>(
    'select transfer_policy from projects where id = $1 for no key update',
    [project],
  )
  if (!rows[0]) throw notFound(`project ${project}`)
  const { transfer_policy: before } = rows[0]
  if (before !== policy) await tx.query('update projects set transfer_policy = $2 where id = $1', [project, policy])
  return before
}
