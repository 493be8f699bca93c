import type { Db } from '../../store/connect.ts'

/** A partition that no consumer reads: the events are there and start nothing. */
const PARTITION = 70
/** Of no integration: its deliveries have ended, and nobody asks for them. */
const INTEGRATION = 2_147_483_647
/** Younger than what retention removes. */
const AT = `now() - interval '10 days' + n * interval '1 millisecond'`

// $1: the environment; $2, $3: the numbers of the first row and of the last one. A tenth of the runs has failed, a tenth waits, each with its job.
const FILLED = {
  events: `insert into events (environment, partition, log_offset, id, event_id, name, happened_at, received_at, platform, triggers)
      select $1, ${PARTITION}, n, 'evt_' || lpad(n::text, 20, '0'), 'filler_' || n, 'quiet', ${AT}, ${AT}, 'iOS', false from generate_series($2::int, $3::int) n`,
  deliveries: `insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, status, attempt_count,
        delivered_at, ended_at, created_at)
      select $1, 'dlv_' || lpad(n::text, 20, '0'), ${INTEGRATION}, 'event', 'evt_' || lpad(n::text, 20, '0'), 'quiet', ${PARTITION}, n, 'delivered', 1,
        ${AT}, ${AT}, ${AT} from generate_series($2::int, $3::int) n`,
  automation_runs: `insert into automation_runs (environment, id, automation_id, version, event_id, event_name, happened_at, received_at, partition, log_offset,
        position, status, current_step, due_at, created_at, started_at, finished_at)
      select $1, 'run_' || lpad(n::text, 20, '0'), 'auto_filler', 1, 'evt_' || lpad(n::text, 20, '0'), 'quiet', ${AT}, ${AT}, ${PARTITION}, n, n, status,
        case status when 'waiting' then 's' end, case status when 'waiting' then now() + interval '900 days' end, ${AT}, ${AT},
        case when status <> 'waiting' then ${AT} end
      from generate_series($2::int, $3::int) n, lateral (select case n % 10 when 0 then 'waiting' when 1 then 'failed' else 'succeeded' end as status) s`,
  automation_steps: `insert into automation_steps (run, n, step_id, type, status, started_at, finished_at)
      select number, 0, 's', 'delay', case status when 'waiting' then 'waiting' else 'succeeded' end, created_at, finished_at from automation_runs
      where environment = $1 and log_offset between $2 and $3 order by number`,
  unsuccessful_runs: `insert into unsuccessful_runs (environment, automation_id, status, created_at, id, number, finished_at)
      select environment, automation_id, status, created_at, id, number, finished_at from automation_runs
      where environment = $1 and log_offset between $2 and $3 and status = 'failed'`,
  due: `insert into due (kind, id, environment, due_at) select 'automation-run', number, environment, due_at from automation_runs
      where environment = $1 and log_offset between $2 and $3 and status = 'waiting'`,
  runs: `insert into runs (environment, workflow, version, subject, status, created_at, started_at, finished_at)
      select $1, 'export', 1, 'exp_' || n, 'succeeded', ${AT}, ${AT}, ${AT} from generate_series($2::int, $3::int) n`,
  steps: `insert into steps (run, n, name, status, started_at, finished_at)
      select id, 0, 's', 'succeeded', created_at, finished_at from runs where environment = $1 and substr(subject, 5)::int between $2 and $3 order by id`,
}

/** Row by row, the entries of ten indexes would take an hour for ten million rows. */
export async function withoutIndexes(db: Db, table: string, work: () => Promise<unknown>): Promise<void> {
  const { rows } = await db.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = $1::regclass and not indisprimary`,
    [table],
  )
  for (const { name } of rows) await db.query(`drop index ${name}`)
  await work()
  for (const { definition } of rows) await db.query(definition)
}

/** The tables that grow with traffic, in the order in which they are filled: each after those that it copies from. */
export type LargeTable = keyof typeof FILLED
export const LARGE_TABLES = Object.keys(FILLED) as LargeTable[]

/** Inserts the rows from the first number to the last one. Nothing of them is due, and no figure has them. */
export const insertRows = (db: Db, table: LargeTable, environment: number, first: number, last: number): Promise<unknown> =>
  db.query(FILLED[table], [environment, first, last])
