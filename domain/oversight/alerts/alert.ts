import type { Db, Pool } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import type { AlertKind, AlertSubject } from './kinds.ts'
import type { AlertPhase } from './message.ts'

export type AlertMessageRow = {
  channel_id: string
  phase: AlertPhase
  status: 'pending' | 'sent' | 'failed'
  attempts: number
  error: string | null
  created_at: string
  finished_at: string | null
}

export type AlertRow = AlertSubject & {
  id: string
  detail: string | null
  created_at: string
  last_at: string
  ended_at: string | null
  /** The newest ones, oldest first. */
  messages: AlertMessageRow[]
}

const ALERT_COLUMNS = 'id, kind, holder, about, title, count, detail, created_at, last_at, ended_at'
const MOST_MESSAGES = 50

type AlertFilter = { isOpen: boolean | undefined; kinds: AlertKind[] }

const MESSAGES = `
select n.alert_id, m.channel_id, m.phase, m.status, m.attempts, m.error, m.created_at, m.finished_at
from unnest($2::text[]) n(alert_id) cross join lateral (
  select * from alert_messages where environment = $1 and alert_id = n.alert_id order by number desc limit ${MOST_MESSAGES}) m
order by m.number`

/** Open and ended alerts, newest first. */
export async function listAlerts(
  db: Db,
  environment: Environment,
  { isOpen, kinds, limit, after }: AlertFilter & { limit: number; after: string | undefined },
): Promise<Page<AlertRow>> {
  const condition = '($4::boolean is null or (ended_at is null) = $4) and (cardinality($5::text[]) = 0 or kind = any ($5))'
  const page = await pageOf<Omit<AlertRow, 'messages'>>(db, { table: 'alerts', columns: ALERT_COLUMNS, order: 'newest' }, environment, {
    limit,
    after,
    narrowed: { condition, values: [isOpen ?? null, kinds] },
  })
  const { rows } = await db.query<AlertMessageRow & { alert_id: string }>({
    name: 'messages-of-alerts',
    text: MESSAGES,
    values: [environment, page.rows.map(({ id }) => id)],
  })
  const of = (id: string) => rows.filter(({ alert_id }) => alert_id === id).map(({ alert_id: _, ...message }) => message)
  return { ...page, rows: page.rows.map(row => ({ ...row, messages: of(row.id) })) }
}

const KEPT_DAYS = 90

/** Removes alerts that ended over 90 days ago by the clock of their environment, with their messages; at most `batch` at once. */
export async function dropOldAlerts(pool: Pool, batch: number, environment: Environment | null = null): Promise<number> {
  const { rowCount } = await pool.query(
    `with old as materialized (
       select a.environment, a.id from environments e cross join lateral (
         select environment, id from alerts where environment = e.id and ended_at < now() + e.clock_offset - make_interval(days => $1)
         order by ended_at limit $2) a where $3::int is null or e.id = $3 limit $2
     ), locked as materialized (
       select a.environment, a.id from alerts a join old o on o.environment = a.environment and o.id = a.id for update of a skip locked
     )
     delete from alerts a using locked l where a.environment = l.environment and a.id = l.id`,
    [KEPT_DAYS, batch, environment],
  )
  return rowCount ?? 0
}
