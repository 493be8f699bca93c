import type { Db } from '../../store/connect.ts'
import type { Secrets } from './seal.ts'

export const WRONG_SECRET =
  'APP_SECRET is not the one that the keys of this installation are sealed with: set the one that it was made with'

/** Whether this APP_SECRET is the one that the installation's keys are sealed with; true while there are none. */
export async function opensKeys(db: Db, secrets: Secrets): Promise<boolean> {
  const { rows } = await db.query<{ project: number; kind: string; sealed: Buffer }>(
    'select project, kind, sealed from keys order by id desc limit 1',
  )
  const key = rows[0]
  if (!key) return true
  try {
    secrets.open(key.sealed, `key:${key.project}:${key.kind}`)
    return true
  } catch {
    return false
  }
}
