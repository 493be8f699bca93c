import type { Db } from '../../../store/connect.ts'
import type { ClaimedJob } from './job.ts'
import { lockJobs } from './sql.ts'

// The trace of a job is in the row of what it executes. These statements are used while traces are sent, and the statements that claim and load jobs
// know nothing of it.

/** The rows of the jobs of a kind. `kindColumn`: the table has rows of other kinds as well. */
export type TracedRows = { table: string; key: string; kindColumn?: string }

const ofKind = (kind: string, { kindColumn }: TracedRows): string => (kindColumn === undefined ? '' : ` and ${kindColumn} = '${kind}'`)

/** `dueAt`: real time, in Unix milliseconds. `hasRow`: there is a row that keeps the trace. */
export type FoundTrace = { stored: string | null; dueAt: number | null; hasRow: boolean }

/** The traces of jobs of one kind, in order; null for a job that is gone. */
export async function tracesOfJobs(db: Db, kind: string, rows: TracedRows, ids: readonly number[]): Promise<(FoundTrace | null)[]> {
  const found = await db.query<{ id: number } & FoundTrace>({
    name: `traces-of-${kind}`,
    text: `select d.id, (extract(epoch from d.due_at - e.clock_offset) * 1000)::float8 as "dueAt", t.trace_context as stored, t.id is not null as "hasRow"
           from unnest($1::bigint[]) k(id)
             cross join lateral (select id, environment, due_at from due where kind = '${kind}' and id = k.id limit 1) d
             cross join lateral (select clock_offset from environments where id = d.environment limit 1) e
             left join lateral (
               select ${rows.key} as id, trace_context from ${rows.table} where ${rows.key} = k.id${ofKind(kind, rows)} limit 1) t on true`,
    values: [ids],
  })
  const byId = new Map(found.rows.map(row => [row.id, row]))
  return ids.map(id => byId.get(id) ?? null)
}

/** Gives the rows of claimed jobs of one kind another trace: the wait before was so long that a new one begins. */
export async function renewTraces(
  db: Db,
  kind: string,
  rows: TracedRows,
  jobs: readonly (Pick<ClaimedJob, 'id' | 'fence'> & { stored: string })[],
): Promise<void> {
  await db.query({
    name: `renew-traces-${kind}`,
    text: `with locked as materialized (${lockJobs(kind, '$1::bigint[]')})
           update ${rows.table} t set trace_context = w.stored
           from unnest($1::bigint[], $2::int[], $3::text[]) w(id, fence, stored) join locked l on l.id = w.id and l.fence = w.fence
           where t.${rows.key} = any ($1::bigint[]) and t.${rows.key} = w.id${ofKind(kind, rows)}`,
    values: [jobs.map(({ id }) => id), jobs.map(({ fence }) => fence), jobs.map(({ stored }) => stored)],
  })
}
