import type { Pool } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { SHOWN } from './beginning.ts'

/** A user who was seen less than so long ago (µs) is not written again. */
export const SEEN_MICROS = 1_000_000

/**
 * Stores that an app has shown the user now, in a transaction of its own whose commit does not wait for the disk: every start of an app
 * does this. A crash of the database server may lose these times of the last half second, and no other data.
 */
export const noteSeen = (pool: Pool, environment: Environment, user: string) =>
  pool.query({
    name: 'note-seen',
    text: `with unwaited as materialized (select set_config('synchronous_commit', 'off', true))
           update users set last_seen_at = greatest(last_seen_at, environment_now($1)), is_seen_live = ${SHOWN} from unwaited
           where environment = $1 and id = $2
             and (last_seen_at <= environment_now($1) - interval '${SEEN_MICROS} microseconds' or is_seen_live is false)`,
    values: [environment, user],
  })
