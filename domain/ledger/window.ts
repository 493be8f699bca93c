import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { LedgerWindow } from './read.ts'

// Fractions are cut off, and never rounded into the next second.
const whole = (time: string | undefined) => time?.replace(/\.\d+/, '') ?? null

/**
 * The last 24 hours, as far as nothing else is asked for. They end at this very moment and not at its whole second: what was promised
 * just now is in them.
 */
export async function ledgerWindow(
  db: Db,
  environment: Environment,
  { from, to }: { from?: string | undefined; to?: string | undefined },
): Promise<LedgerWindow> {
  const { rows } = await db.query<LedgerWindow>(
    `select coalesce($2::timestamptz, date_trunc('second', n.now) - interval '24 hours')::text as from,
       coalesce($3::timestamptz, n.now)::text as to, n.now::text as now
     from environment_now($1) n(now)`,
    [environment, whole(from), whole(to)],
  )
  return rows[0]!
}
