import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** A published screen as an app shows it. */
export type PublishedScreen = { id: string; context_key: string | null; content: Record<string, unknown> }

const COLUMNS = 'id, context_key, content'

export async function findPublished(db: Db, environment: Environment, id: string): Promise<PublishedScreen | undefined> {
  const { rows } = await db.query<PublishedScreen>({
    name: 'find-published-screen',
    text: `select ${COLUMNS} from screens where environment = $1 and id = $2 and status = 'published'`,
    values: [environment, id],
  })
  return rows[0]
}

/** The screen of the context that was published last. */
export async function findPublishedFor(db: Db, environment: Environment, contextKey: string): Promise<PublishedScreen | undefined> {
  const { rows } = await db.query<PublishedScreen>({
    name: 'find-screen-of-context',
    text: `select ${COLUMNS} from screens where environment = $1 and context_key = $2 and status = 'published'
           order by published_at desc, id desc limit 1`,
    values: [environment, contextKey],
  })
  return rows[0]
}

/** All that have a context key, oldest first. */
export async function listPublished(db: Db, environment: Environment): Promise<PublishedScreen[]> {
  const { rows } = await db.query<PublishedScreen>({
    name: 'list-published-screens',
    text: `select ${COLUMNS} from screens where environment = $1 and status = 'published' and context_key is not null and context_key <> ''
           order by created_at, id`,
    values: [environment],
  })
  return rows
}
