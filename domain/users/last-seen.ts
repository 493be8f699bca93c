import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** The user was seen now. Whoever was seen less than a second ago is not written. */
export const updateLastSeen = (db: Db, environment: Environment, user: string) =>
  db.query({
    name: 'update-last-seen',
    text: `update users set last_seen_at = environment_now($1)
           where environment = $1 and id = $2 and last_seen_at <= environment_now($1) - interval '1 second'`,
    values: [environment, user],
  })
