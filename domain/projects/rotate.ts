import type { Tx } from '../../store/connect.ts'
import { secretKey } from '../../store/ids.ts'
import { notFound } from '../refusal.ts'
import { storeKey } from './create.ts'
import type { Secrets } from './seal.ts'

/** An API process may keep a key in memory for KEY_CACHE_MS; together with this grace the old key works at most 10 s more. */
export const ROTATION_GRACE_SECONDS = 5

/** A new Secret Key; the old one works for a few seconds more. Returns the new one, in clear. */
export async function rotateSecretKey(tx: Tx, secrets: Secrets, project: number): Promise<string> {
  const locked = await tx.query('select 1 from projects where id = $1 for no key update', [project])
  if (locked.rowCount === 0) throw notFound(`project ${project}`)
  await tx.query(
    `update keys set expires_at = clock_timestamp() + make_interval(secs => $2)
     where project = $1 and kind = 'secret' and expires_at is null`,
    [project, ROTATION_GRACE_SECONDS],
  )
  const key = secretKey()
  await storeKey(tx, secrets, project, 'secret', key)
  return key
}
