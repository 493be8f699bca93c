import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/** A published screen as an app shows it. */
export type PublishedScreen = { id: string; context_key: string | null; content: Record<string, unknown> }

type ContextScreen = { id: string; name: string }

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

/** The screen of the context that was published last, as lists show it; null: the context has none. */
export async function shownInContext(db: Db, environment: Environment, contextKey: string | null): Promise<ContextScreen | null> {
  if (contextKey === null) return null
  const { rows } = await db.query<ContextScreen>({
    name: 'name-screen-of-context',
    text: `select id, name from screens where environment = $1 and context_key = $2 and status = 'published'
           order by published_at desc, id desc limit 1`,
    values: [environment, contextKey],
  })
  return rows[0] ?? null
}

/** By context key, the screen of the context that was published last. */
export async function screensOfContexts(db: Db, environment: Environment, contextKeys: string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ context_key: string; id: string }>({
    name: 'find-screens-of-contexts',
    text: `select k.context_key, s.id from unnest($2::text[]) k(context_key) cross join lateral (
             select id from screens where environment = $1 and context_key = k.context_key and status = 'published'
             order by published_at desc, id desc limit 1) s`,
    values: [environment, contextKeys],
  })
  return new Map(rows.map(({ context_key, id }) => [context_key, id]))
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
