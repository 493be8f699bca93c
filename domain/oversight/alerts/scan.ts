import { LOCK } from '../../../store/advisory-locks.ts'
import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { transaction } from '../../../store/transaction.ts'
import { createRuns } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type AlertCondition, readConditions } from './conditions.ts'
import { ALERT_WORKFLOW } from './message.ts'

/** Environments of one transaction. */
const BATCH = 500

/** For one kind and holder, a channel gets at most one message in this time. The message about the end of an alert follows at once. */
const QUIET = `interval '1 hour'`

const SAME = 'a.environment = f.environment and a.kind = f.kind and a.holder = f.holder and a.about = f.about'

// One statement ends, changes or begins alerts from one read of the conditions. The unique index of open alerts prevents a second open
// alert.
const APPLY = `
with found as materialized (
  select * from jsonb_to_recordset($2::jsonb) f(id text, environment int, kind text, holder text, about text, title text, count int,
    last_at timestamptz, detail text)
), ended as (
  update alerts a set ended_at = environment_now(a.environment)
  where a.environment = any ($1::int[]) and a.ended_at is null and not exists (select from found f where ${SAME})
  returning a.environment, a.id, a.told_at
), changed as (
  update alerts a set title = f.title, count = f.count, last_at = f.last_at, detail = f.detail from found f
  where ${SAME} and a.ended_at is null and (a.title, a.count, a.last_at, a.detail) is distinct from (f.title, f.count, f.last_at, f.detail)
), began as (
  insert into alerts (environment, id, kind, holder, about, title, count, last_at, detail, created_at)
  select environment, id, kind, holder, about, title, count, last_at, detail, environment_now(environment) from found
  on conflict (environment, kind, holder, about) where ended_at is null do nothing
)
select environment, id from ended where told_at is not null`

// An alert that no channel wants stays without a message: a channel that is created later gets one.
const REPORT_OPEN = `
with due as (
  select a.environment, a.id, a.kind, case when a.told_at is null then 'began' else 'continues' end as phase
  from alerts a where a.environment = any ($1::int[]) and a.ended_at is null and (a.told_at is null or a.last_at > a.told_last_at)
    and not exists (select from alerts t where t.environment = a.environment and t.kind = a.kind and t.holder = a.holder and t.about = a.about
      and t.told_at > environment_now(a.environment) - ${QUIET})
), wanted as materialized (
  select d.environment, d.id, d.phase, c.id as channel from due d
    join notification_channels c on c.environment = d.environment and (c.kinds is null or d.kind = any (c.kinds))
), reported as (
  update alerts a set told_at = environment_now(a.environment), told_last_at = a.last_at
  where (a.environment, a.id) in (select environment, id from wanted)
)
insert into alert_messages (environment, alert_id, channel_id, phase, created_at)
select environment, id, channel, phase, environment_now(environment) from wanted order by environment, id, channel
returning environment, number`

const REPORT_ENDED = `
insert into alert_messages (environment, alert_id, channel_id, phase, created_at)
select environment, alert_id, channel_id, 'ended', environment_now(environment) from (
  select distinct m.environment, m.alert_id, m.channel_id
  from unnest($1::int[], $2::text[]) n(environment, id) join alert_messages m on m.environment = n.environment and m.alert_id = n.id) t
returning environment, number`

type Message = { environment: Environment; number: number }

const nextEnvironments = async (db: Db, after: number): Promise<Environment[]> =>
  (
    await db.query<{ id: number }>('select id from environments where id > $1 and reset_at is null order by id limit $2', [after, BATCH])
  ).rows.map(({ id }) => id)

async function applyConditions(tx: Tx, environments: Environment[], found: AlertCondition[]): Promise<Message[]> {
  const withIds = found.map(condition => ({ ...condition, id: orderedId('alt') }))
  const ended = (await tx.query<{ environment: number; id: string }>(APPLY, [environments, JSON.stringify(withIds)])).rows
  const opened = await tx.query<Message>(REPORT_OPEN, [environments])
  if (ended.length === 0) return opened.rows
  const ends = await tx.query<Message>(REPORT_ENDED, [ended.map(({ environment }) => environment), ended.map(({ id }) => id)])
  return [...opened.rows, ...ends.rows]
}

/**
 * Compares the present conditions with the open alerts: begins and ends alerts, and creates a message with its run for each channel that
 * wants it, in one transaction for each few hundred environments. Of two concurrent scans one does nothing: it would apply an older read.
 */
export async function scanAlerts(pool: Pool): Promise<void> {
  for (let last = 0; ; ) {
    const environments = await nextEnvironments(pool, last)
    if (environments.length === 0) return
    await transaction(pool, async tx => {
      const { rows } = await tx.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1, 0) as locked', [LOCK.alerts])
      if (!rows[0]!.locked) return
      const messages = await applyConditions(tx, environments, await readConditions(tx, environments))
      for (const environment of new Set(messages.map(message => message.environment))) {
        const own = messages.filter(message => message.environment === environment)
        await createRuns(
          tx,
          environment,
          ALERT_WORKFLOW,
          own.map(({ number }) => String(number)),
        )
      }
    })
    last = environments.at(-1)!
  }
}
