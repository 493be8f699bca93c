import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import type { User } from './create.ts'

/** Throws `not_found` for an id that is unknown here, in the other environment or in another project alike. */
export async function getUser(db: Db, environment: Environment, id: string): Promise<User> {
  const { rows } = await db.query<User>({
    name: 'get-user',
    text: 'select id, created_at, identity_id from users where environment = $1 and id = $2',
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('user')
  return rows[0]
}
