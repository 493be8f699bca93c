import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/** A screen from a file, with all of its layout. */
export type ImportedScreen = {
  id: string
  name: string
  status: 'draft' | 'published'
  type: 'paywall' | 'web_flow' | null
  context_key: string | null
  background: string
  default_lang: string
  configs: Record<string, unknown>
  content: Record<string, unknown>
  used: string[]
}

export type ImportOutcome = 'created' | 'changed' | 'unchanged'

// A screen keeps the time of its first publication, and a draft has none. Of several in one file the last one is the last published.
const UPSERT = `
insert into screens as s (environment, id, name, status, type, context_key, background, default_lang, configs, content, used, published_at, created_at,
  updated_at)
select $1, $2, $3, $4::text, $5, $6, $7, $8, $9, $10, $11, case when $4::text = 'published' then t end, date_trunc('second', t), date_trunc('second', t)
from (select clock_timestamp() + clock_offset as t from environments where id = $1) n
on conflict (environment, id) do update set name = excluded.name, status = excluded.status, type = excluded.type, context_key = excluded.context_key,
  background = excluded.background, default_lang = excluded.default_lang, configs = excluded.configs, content = excluded.content,
  used = excluded.used, updated_at = excluded.updated_at,
  published_at = case when excluded.status = 'published' then coalesce(s.published_at, excluded.published_at) end
where (s.name, s.status, s.type, s.context_key, s.background, s.default_lang, s.configs::text, s.content::text, s.used)
  is distinct from (excluded.name, excluded.status, excluded.type, excluded.context_key, excluded.background, excluded.default_lang,
    excluded.configs::text, excluded.content::text, excluded.used)
returning xmax = 0 as created`

/** Creates the screen, or gives the one with its id the same fields. */
export async function importScreen(tx: Tx, environment: Environment, screen: ImportedScreen): Promise<ImportOutcome> {
  const { id, name, status, type, context_key, background, default_lang, configs, content, used } = screen
  const { rows } = await tx.query<{ created: boolean }>(UPSERT, [
    environment,
    id,
    name,
    status,
    type,
    context_key,
    background,
    default_lang,
    JSON.stringify(configs),
    JSON.stringify(content),
    used,
  ])
  if (!rows[0]) return 'unchanged'
  return rows[0].created ? 'created' : 'changed'
}
