import type { Db, Tx } from '../../store/connect.ts'
import type { EnvironmentKind } from '../kernel/environment.ts'
import { notFound } from '../kernel/refusal.ts'
import { type KeyKind, sealContext } from './keys.ts'
import type { Secrets } from './secrets.ts'

export type ProjectSettings = { project_name: string; proxy_url: string | null; rtdn_proxy_url: string | null }
type ProjectKeysInClear = Record<KeyKind, string>

const SETTINGS = 'name as project_name, proxy_url, rtdn_proxy_url'

/** SQL: the sealed key of a kind that is in force. Of the Secret Keys this is the one without an expiry: a rotation sets the expiry. */
const keySql = (kind: KeyKind) =>
  `(select sealed from keys where project = projects.id and kind = '${kind}' and expires_at is null order by id desc limit 1)`

/** Opens a sealed key. Throws when another APP_SECRET sealed it. */
export const openKey = (secrets: Secrets, project: number, kind: KeyKind, sealed: Buffer): string =>
  secrets.open(sealed, sealContext(project, kind))

type Row = ProjectSettings & Record<KeyKind, Buffer>

export async function getSettings(db: Db, secrets: Secrets, project: number): Promise<ProjectSettings & { keys: ProjectKeysInClear }> {
  const { rows } = await db.query<Row>(
    `select ${SETTINGS}, ${keySql('secret')} as secret, ${keySql('project')} as project, ${keySql('api')} as api from projects where id = $1`,
    [project],
  )
  const { secret, project: projectKey, api, ...settings } = rows[0]!
  const open = (kind: KeyKind, key: Buffer) => openKey(secrets, project, kind, key)
  return { ...settings, keys: { secret: open('secret', secret), project: open('project', projectKey), api: open('api', api) } }
}

type EnvironmentCounts = { users: number; last_event_at: string | null }
export async function projectName(db: Db, project: number): Promise<string> {
  return (await db.query<{ name: string }>('select name from projects where id = $1', [project])).rows[0]!.name
}

type ProjectRow = { id: number; name: string; raw_data: boolean; created_at: string } & Record<EnvironmentKind, EnvironmentCounts>

/** SQL: how many users an environment has, and when it got its last event. */
const countsSql = (kind: EnvironmentKind) => `json_build_object(
       'users', (select count(*) from users u join environments e on e.id = u.environment where e.project = p.id and e.kind = '${kind}'),
       'last_event_at', (select to_char(max(case when l.next_offset > 0 then l.last_received_at end) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
          from log_positions l join environments e on e.id = l.environment where e.project = p.id and e.kind = '${kind}'))`

/** All projects of the installation, oldest first. For the operator only: no key gives access to this list. */
export async function listProjects(db: Db): Promise<ProjectRow[]> {
  const { rows } = await db.query<ProjectRow>(
    `select p.id, p.name, p.raw_data, p.created_at, ${countsSql('production')} as production, ${countsSql('sandbox')} as sandbox
     from projects p order by p.id`,
  )
  return rows
}

/** Updates the given settings. `isChanged` is false when all given values are the stored ones. */
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

/** Switches raw data (exports, reports) of a project on or off; returns whether it was on. */
export async function setRawData(tx: Tx, project: number, on: boolean): Promise<boolean> {
  const { rows } = await tx.query<{ raw_data: boolean }>('select raw_data from projects where id = $1 for no key update', [project])
  if (!rows[0]) throw notFound(`project ${project}`)
  const { raw_data: before } = rows[0]
  if (before !== on) await tx.query('update projects set raw_data = $2 where id = $1', [project, on])
  return before
}
