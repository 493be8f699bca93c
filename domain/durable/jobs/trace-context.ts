import type { Db } from '../../../store/connect.ts'
import type { ClaimedJob } from './job.ts'
import { lockJobs } from './sql.ts'

// The trace of a job is in the row of what it executes. These statements are used while traces are sent.

/** The rows of the jobs of a kind. `kindColumn`: the table has rows of other kinds as well. */
export type TracedRows = { table: string; key: string; kindColumn?: string }

const ofKind = (kind: string, { kindColumn }: TracedRows): string => (kindColumn === undefined ? '' : ` and ${kindColumn} = '${kind}'`)

/** The traces of jobs of one kind, in order; null for a job without a row that keeps it. */
export async function tracesOfJobs(
  db: Db,
  kind: string,
  rows: TracedRows,
  ids: readonly number[],
): Promise<({ stored: string | null } | null)[]> {
  const found = await db.query<{ id: number; stored: string | null }>({
    name: `traces-of-${kind}`,
    text: `select t.id, t.stored from unnest($1::bigint[]) k(id) cross join lateral (
             select ${rows.key} as id, trace_context as stored from ${rows.table} where ${rows.key} = k.id${ofKind(kind, rows)} limit 1) t`,
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
