import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Whoever was seen less than so long ago (µs) is not written again. */
export const SEEN_MICROS = 1_000_000

/**
 * The user was seen now. The commit does not wait for the disk, as every start of an app would: a crash of the server may forget the last
 * half second of it, and nothing else.
 */
export const noteSeen = (db: Db, environment: Environment, user: string) =>
  db.query({
    name: 'note-seen',
    text: `with unwaited as materialized (select set_config('synchronous_commit', 'off', true))
           update users set last_seen_at = environment_now($1) from unwaited
           where environment = $1 and id = $2 and last_seen_at <= environment_now($1) - interval '${SEEN_MICROS} microseconds'`,
    values: [environment, user],
  })
