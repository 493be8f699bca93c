import { connect, type Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'

/** A partition that no consumer reads: the events are there and start nothing. */
const PARTITION = 70
/** Of no integration: its deliveries have ended, and nobody asks for them. */
const INTEGRATION = 2_147_483_647
/** Younger than what retention removes. */
const AT = `now() - interval '10 days' + n * interval '1 millisecond'`

// $1: the environment; $2: the number of rows. A tenth of the runs has failed, a tenth waits, each with its job.
const FILLED: readonly { table: string; insert: string }[] = [
  {
    table: 'events',
    insert: `insert into events (environment, partition, log_offset, id, event_id, name, happened_at, received_at, platform, triggers)
      select $1, ${PARTITION}, n, 'evt_' || lpad(n::text, 20, '0'), 'filler_' || n, 'quiet', ${AT}, ${AT}, 'iOS', false from generate_series(1, $2::int) n`,
  },
  {
    table: 'deliveries',
    insert: `insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, status, attempt_count,
        delivered_at, ended_at, created_at)
      select $1, 'dlv_' || lpad(n::text, 20, '0'), ${INTEGRATION}, 'event', 'evt_' || lpad(n::text, 20, '0'), 'quiet', ${PARTITION}, n, 'delivered', 1,
        ${AT}, ${AT}, ${AT} from generate_series(1, $2::int) n`,
  },
  {
    table: 'automation_runs',
    insert: `insert into automation_runs (environment, id, automation_id, version, event_id, event_name, happened_at, received_at, partition, log_offset,
        position, status, current_step, due_at, created_at, started_at, finished_at)
      select $1, 'run_' || lpad(n::text, 20, '0'), 'auto_filler', 1, 'evt_' || lpad(n::text, 20, '0'), 'quiet', ${AT}, ${AT}, ${PARTITION}, n, n, status,
        case status when 'waiting' then 's' end, case status when 'waiting' then now() + interval '900 days' end, ${AT}, ${AT},
        case when status <> 'waiting' then ${AT} end
      from generate_series(1, $2::int) n, lateral (select case n % 10 when 0 then 'waiting' when 1 then 'failed' else 'succeeded' end as status) s`,
  },
  {
    table: 'automation_steps',
    insert: `insert into automation_steps (run, n, step_id, type, status, started_at, finished_at)
      select number, 0, 's', 'delay', case status when 'waiting' then 'waiting' else 'succeeded' end, created_at, finished_at from automation_runs
      where environment = $1 order by number limit $2`,
  },
  {
    table: 'unsuccessful_runs',
    insert: `insert into unsuccessful_runs (environment, automation_id, status, created_at, id, number, finished_at)
      select environment, automation_id, status, created_at, id, number, finished_at from automation_runs
      where environment = $1 and status = 'failed' limit $2`,
  },
  {
    table: 'due',
    insert: `insert into due (kind, id, environment, due_at) select 'automation-run', number, environment, due_at from automation_runs
      where environment = $1 and status = 'waiting' limit $2`,
  },
  {
    table: 'runs',
    insert: `insert into runs (environment, workflow, version, subject, status, created_at, started_at, finished_at)
      select $1, 'export', 1, 'exp_' || n, 'succeeded', ${AT}, ${AT}, ${AT} from generate_series(1, $2::int) n`,
  },
  {
    table: 'steps',
    insert: `insert into steps (run, n, name, status, started_at, finished_at)
      select id, 0, 's', 'succeeded', created_at, finished_at from runs where environment = $1 order by id limit $2`,
  },
]

/** Row by row, the entries of ten indexes would take an hour for ten million rows. */
async function withoutIndexes(tx: Tx, table: string, work: () => Promise<unknown>): Promise<void> {
  const { rows } = await tx.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = $1::regclass and not indisprimary`,
    [table],
  )
  for (const { name } of rows) await tx.query(`drop index ${name}`)
  await work()
  for (const { definition } of rows) await tx.query(definition)
}

/**
 * Creates a project and fills every table that grows with traffic by so many of its rows, which are of no figure and of no job that is due. No
 * worker may be at work: tables are locked meanwhile. `cli`: the command line.
 */
export async function fillLarge(cli: (...args: string[]) => Promise<string>, url: string, count: number): Promise<void> {
  const [, project] = /^Project (\d+)/.exec(await cli('project', 'create', '--name', 'Large'))!
  const pool = connect({ url, max: 1, statementTimeoutMs: 0 })
  try {
    const { rows } = await pool.query<{ id: number }>(`select id from environments where project = $1 and kind = 'production'`, [project])
    for (const { table, insert } of FILLED) {
      await transaction(pool, async tx => {
        await tx.query(`set local maintenance_work_mem = '512MB'`)
        await withoutIndexes(tx, table, () => tx.query(insert, [rows[0]!.id, count]))
      })
      await pool.query(`analyze ${table}`)
    }
  } finally {
    await pool.end()
  }
}
