import type { Db, Tx } from '../../store/connect.ts'
import type { KeyKind } from './create.ts'
import type { Secrets } from './seal.ts'

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
