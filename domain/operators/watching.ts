import type { Db } from '../../store/connect.ts'
import { IN_FORCE, IS_ENOUGH } from './session.ts'

/** A session that watches a project. */
export type Watching = { session: string; project: number }

/** Which of them may still watch: their session has not ended, and the operator has a role in the project. */
export async function stillWatching(db: Db, watching: readonly Watching[]): Promise<Watching[]> {
  const { rows } = await db.query<Watching>({
    name: 'still-watching',
    text: `select w.session, w.project from unnest($1::text[], $2::int[]) w(session, project)
             join operator_sessions s on s.id = w.session join operators o on o.id = s.operator cross join operator_policy p
           where ${IN_FORCE} and ${IS_ENOUGH} and (o.is_owner or exists (select from operator_roles r where r.operator = o.id and r.project = w.project))`,
    values: [watching.map(({ session }) => session), watching.map(({ project }) => project)],
  })
  return rows
}
