import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'

const LIFETIME_DAYS = 30
/** How long a screen is kept after it has expired, whether or not it was shown. */
const KEPT_DAYS = 90

/** A screen that an automation shows to a user. Times in Unix seconds. */
export type PendingScreen = {
  id: string
  screen_id: string
  context_key: string | null
  automation_id: string
  run_id: string
  created: number
  expires: number
  shown: number | null
}

const seconds = (column: string) => `floor(extract(epoch from ${column}))::bigint`

/** The user's screens, oldest first: the waiting ones, or also those that were shown or expired in the last 90 days. Published screens only. */
export async function listPendingScreens(db: Db, environment: Environment, user: string, isWaiting: boolean): Promise<PendingScreen[]> {
  const { rows } = await db.query<PendingScreen>({
    name: 'list-pending-screens',
    text: `select p.id, p.screen_id, s.context_key, p.automation_id, p.run_id, ${seconds('p.created_at')} as created,
             ${seconds('p.expires_at')} as expires, ${seconds('p.shown_at')} as shown
           from environment_now($1) t cross join pending_screens p join screens s on s.environment = $1 and s.id = p.screen_id
           where p.environment = $1 and p.user_id = $2 and s.status = 'published'
             and case when $3 then p.shown_at is null and p.expires_at > t
                      else coalesce(p.shown_at, p.expires_at) > t - interval '${KEPT_DAYS} days' end
           order by p.created_at, p.id`,
    values: [environment, user, isWaiting],
  })
  return rows
}

/** The user's app has shown these screens: they wait no longer. */
export const markShown = (tx: Tx, environment: Environment, user: string, screens: string[]) =>
  tx.query({
    name: 'mark-screens-shown',
    text: `update pending_screens set shown_at = date_trunc('second', t) from environment_now($1) t
           where environment = $1 and user_id = $2 and screen_id = any($3) and shown_at is null and expires_at > t`,
    values: [environment, user, screens],
  })

/** The automation run that shows the screen. */
type ShowingRun = { environment: Environment; id: string; automation_id: string }

/** Stores a screen for the user's app to fetch; it expires after 30 days. Throws `not_found` for a screen that no longer exists. */
export async function storePendingScreen(tx: Tx, run: ShowingRun, user: string, step: string, screen: string): Promise<string> {
  await lockScreen(tx, run.environment, screen)
  const id = orderedId('psc')
  await tx.query(
    `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
     select $1, $2, $3, $4, $5, $6, $7, t, t + make_interval(days => ${LIFETIME_DAYS}) from date_trunc('second', environment_now($1)) t`,
    [run.environment, id, user, screen, run.automation_id, run.id, step],
  )
  return id
}

async function lockScreen(tx: Tx, environment: Environment, screen: string): Promise<void> {
  const { rowCount } = await tx.query('select 1 from screens where environment = $1 and id = $2 for key share', [environment, screen])
  if (rowCount === 0) throw notFound('screen')
}

const DROP = `
with expired as materialized (
  select s.environment, s.id from environments e cross join lateral (
    select environment, id from pending_screens where environment = e.id and expires_at < now() + e.clock_offset - interval '${KEPT_DAYS} days'
    order by expires_at limit $1) s where $2::int is null or e.id = $2 limit $1
), locked as materialized (
  select s.environment, s.id from expired x join pending_screens s on s.environment = x.environment and s.id = x.id
  order by s.environment, s.id for update of s skip locked
), dropped as (
  delete from pending_screens s using locked l where s.environment = l.environment and s.id = l.id returning 1
)
select count(*)::int as dropped from dropped`

/** Deletes screens that expired 90 days ago by the clock of their environment, whether or not they were shown; at most `batch` at once. */
export async function dropExpiredScreens(db: Db, batch: number, environment: Environment | null): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(DROP, [batch, environment])
  return rows[0]!.dropped
}
