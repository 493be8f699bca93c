import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { recordedTime } from '../../users/user.ts'
import type { IncludedColumn } from './columns.ts'
import { EXPORT_TYPES, type ExportFormat, type ExportType } from './export.ts'
import { deleteMembers, recordMembers } from './members.ts'
import type { PartRange } from './part-range.ts'

/**
 * The sort key of a row in the file: of the log (received_at, partition, offset), of users (time of recording, id), of purchases (the end of the
 * window, id). Times have microseconds.
 */
export type Bound = [at: string, first: string, second: string]

/** The data from which the parts of one export are cut. It is recorded when processing begins, so all later steps use the same values. */
export type ExportSource = {
  environment: Environment
  type: ExportType
  format: ExportFormat
  compression: 'none' | 'gzip'
  formulaGuard: boolean
  include: IncludedColumn[]
  platforms: string
  windowFrom: string
  windowTo: string
  /** Only customers who changed since then; absent: all. */
  updatedFrom?: string
  fromOffsets: number[]
  toOffsets: number[]
  /** The export whose members (`export_members`) it is restricted to; absent: all users. */
  membersOf?: string
}

/**
 * Marks the export as processing and returns the data from which its parts are cut. Records the members of its segment, if it has one.
 * Deletes the records of an earlier, lost run.
 */
export async function beginExport(tx: Tx, environment: Environment, id: string): Promise<ExportSource> {
  const { rows } = await tx.query<
    Omit<ExportSource, 'environment' | 'platforms' | 'membersOf' | 'updatedFrom'> & {
      platform: string | null
      segment: string | null
      updatedFrom: string | null
    }
  >(
    `update exports set status = 'processing', rows_written = 0 where environment = $1 and id = $2
     returning type, format, compression, formula_guard as "formulaGuard", include, platform, segment_id as segment, window_from::text as "windowFrom", window_to::text as "windowTo", updated_from::text as "updatedFrom",
       from_offsets as "fromOffsets", to_offsets as "toOffsets"`,
    [environment, id],
  )
  const { platform, segment, updatedFrom, ...source } = rows[0]!
  if (segment !== null) {
    await deleteMembers(tx, environment, id)
    await recordMembers(tx, environment, id, segment)
  }
  const platforms = platform === 'Stripe' ? 'Stripe,Paddle' : (platform ?? '')
  return { ...source, environment, platforms, ...(segment !== null && { membersOf: id }), ...(updatedFrom !== null && { updatedFrom }) }
}

const orderOf = ({ type }: Pick<ExportSource, 'type'>) => EXPORT_TYPES[type].order

const MAX_ID = String(2n ** 63n - 1n)

/** A bound before the first row of the window. */
export function firstBound(source: ExportSource): Bound {
  const order = orderOf(source)
  if (order === 'purchases') return [source.windowTo, '0', '']
  return order === 'users' ? [source.windowFrom, '', ''] : [source.windowFrom, '-1', '-1']
}

/** A bound after the last row of the window. The window's end is exclusive, and no row has this partition or an empty id. */
export function lastBound(source: ExportSource): Bound {
  const order = orderOf(source)
  if (order === 'purchases') return [source.windowTo, MAX_ID, '']
  return order === 'users' ? [source.windowTo, '', ''] : [source.windowTo, '-1', '-1']
}

const NEXT = {
  log: `select received_at::text as at, partition::text as first, log_offset::text as second from events
    where environment = $1 and (received_at, partition, log_offset) > ($2, $3::smallint, $4::bigint) and received_at < $5
    order by received_at, partition, log_offset offset $6 limit 1`,
  users: `select ${recordedTime('u')}::text as at, u.id as first, '' as second from users u
    where u.environment = $1 and (${recordedTime('u')}, u.id) > ($2, $3) and $4::text = '' and ${recordedTime('u')} < $5
    order by ${recordedTime('u')}, u.id offset $6 limit 1`,
  purchases: `select $5::text as at, p.id::text as first, '' as second from purchases p
    where (p.environment, p.id) > ($1::int, $3::bigint) and p.environment = $1 and $2::text is not null and $4::text = ''
      and p.created_at < $5::timestamptz
    order by p.environment, p.id offset $6 limit 1`,
}

/** The last row of the part that begins after `after` and has `rows` rows. Null when fewer rows are left: the part then ends with the window. */
export async function nextBound(tx: Tx, source: ExportSource, after: Bound, rows: number): Promise<Bound | null> {
  const found = await tx.query<{ at: string; first: string; second: string }>(NEXT[orderOf(source)], [
    source.environment,
    ...after,
    source.windowTo,
    rows - 1,
  ])
  const row = found.rows[0]
  return row ? [row.at, row.first, row.second] : null
}

/** The rows after `after`, up to and including `upto`. */
export function partRange(source: ExportSource, after: Bound, upto: Bound): PartRange {
  const offsets = (list: number[]) => `{${list.join(',')}}`
  return {
    environment: String(source.environment),
    platforms: source.platforms,
    members_of: source.membersOf ?? '',
    updated_from: source.updatedFrom ?? '-infinity',
    from_offsets: offsets(source.fromOffsets),
    to_offsets: offsets(source.toOffsets),
    after_at: after[0],
    after_1: after[1],
    after_2: after[2],
    upto_at: upto[0],
    upto_1: upto[1],
    upto_2: upto[2],
  }
}

/** Adds to the progress of the export, in the transaction that records the part. */
export async function addRows(tx: Tx, environment: Environment, id: string, rows: number): Promise<void> {
  await tx.query('update exports set rows_written = rows_written + $3 where environment = $1 and id = $2', [environment, id, rows])
}
