import type { Pool } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'

/** Inserts an integration, in any state; returns its id. */
export async function storedIntegration(
  pool: Pool,
  environment: number,
  { slug, platform = 'iOS', active = 1, settings = {}, secrets = {} }: Partial<Row> & { slug: string },
): Promise<string> {
  const id = orderedId('int')
  await pool.query(
    `insert into integrations (environment, id, slug, title, target_platform, active, settings, secrets, created_at, updated_at)
     select $1, $2, $3, $3, $4, $5, $6, $7, t, t from date_trunc('second', environment_now($1)) t`,
    [environment, id, slug, platform, active, JSON.stringify(settings), JSON.stringify(secrets)],
  )
  return id
}
/** `secrets`: already sealed. */
type Row = { slug: string; platform: string; active: 0 | 1 | 2; settings: object; secrets: Record<string, string> }
