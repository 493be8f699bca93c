import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { ExportFormat, ExportType } from './export.ts'
import { forgetMembers, keepMembers } from './members.ts'
import { SETTINGS, type Settings } from './statement.ts'

/** A row's place in the file's order: events (received_at, partition, offset), customers (created_at, id); times with microseconds. */
export type Bound = [at: string, first: string, second: string]

/** What the parts of one export are cut from; recorded when processing begins, so every later step sees the same. */
export type Job = {
  environment: Environment
  type: ExportType
  format: ExportFormat
  compression: 'none' | 'gzip'
  platforms: string
  windowFrom: string
  windowTo: string
  fromOffsets: number[]
  toOffsets: number[]
  /** The export whose members (`export_members`) are the users it keeps to; absent: all users. */
  membersOf?: string
}

/**
 * Marks the export as processing and fixes what its parts are cut from: its members too when it is one of a segment. Nothing remains of
 * an earlier run, should there have been one that was lost.
 */
export async function beginExport(tx: Tx, environment: Environment, id: string): Promise<Job> {
  const { rows } = await tx.query<
    Omit<Job, 'environment' | 'platforms' | 'membersOf'> & { platform: string | null; segment: string | null }
  >(
    `update exports set status = 'processing', rows_written = 0 where environment = $1 and id = $2
     returning type, format, compression, platform, segment_id as segment, window_from::text as "windowFrom", window_to::text as "windowTo",
       from_offsets as "fromOffsets", to_offsets as "toOffsets"`,
    [environment, id],
  )
  const { platform, segment, ...job } = rows[0]!
  if (segment !== null) {
    await forgetMembers(tx, environment, id)
    await keepMembers(tx, environment, id, segment)
  }
  const platforms = platform === 'Stripe' ? 'Stripe,Paddle' : (platform ?? '')
  return { ...job, environment, platforms, ...(segment !== null && { membersOf: id }) }
}

/** Before the first row of the window. */
export const firstBound = (job: Job): Bound => (job.type === 'customers' ? [job.windowFrom, '', ''] : [job.windowFrom, '-1', '-1'])

/** After the last row of the window: no row has this partition (or an empty id) at the very edge, which itself is outside. */
export const lastBound = (job: Job): Bound => (job.type === 'customers' ? [job.windowTo, '', ''] : [job.windowTo, '-1', '-1'])

const NEXT = {
  events: `select received_at::text as at, partition::text as first, log_offset::text as second from events
    where environment = $1 and (received_at, partition, log_offset) > ($2, $3::smallint, $4::bigint) and received_at < $5
    order by received_at, partition, log_offset offset $6 limit 1`,
  customers: `select created_at::text as at, id as first, '' as second from users
    where environment = $1 and (created_at, id) > ($2, $3) and $4::text = '' and created_at < $5 order by created_at, id offset $6 limit 1`,
}

/** The last row of the part that begins after `after` and looks at `rows` rows; null when fewer are left: the part goes to the end. */
export async function nextBound(tx: Tx, job: Job, after: Bound, rows: number): Promise<Bound | null> {
  const found = await tx.query<{ at: string; first: string; second: string }>(NEXT[job.type === 'customers' ? 'customers' : 'events'], [
    job.environment,
    ...after,
    job.windowTo,
    rows - 1,
  ])
  const row = found.rows[0]
  return row ? [row.at, row.first, row.second] : null
}

/** Sets what the COPY of one part reads: rows after `after`, up to and including `upto`. */
export async function setPart(tx: Tx, job: Job, after: Bound, upto: Bound): Promise<void> {
  const offsets = (list: number[]) => `{${list.join(',')}}`
  const values: Settings = {
    environment: String(job.environment),
    platforms: job.platforms,
    members_of: job.membersOf ?? '',
    from_offsets: offsets(job.fromOffsets),
    to_offsets: offsets(job.toOffsets),
    after_at: after[0],
    after_1: after[1],
    after_2: after[2],
    upto_at: upto[0],
    upto_1: upto[1],
    upto_2: upto[2],
  }
  await tx.query(
    `select ${SETTINGS.map((name, i) => `set_config('perennial.${name}', $${i + 1}, true)`).join(', ')}`,
    SETTINGS.map(name => values[name]),
  )
}

/** Progress: the part is recorded in the same transaction. */
export async function addRows(tx: Tx, environment: Environment, id: string, rows: number): Promise<void> {
  await tx.query('update exports set rows_written = rows_written + $3 where environment = $1 and id = $2', [environment, id, rows])
}
