import { timingSafeEqual } from 'node:crypto'
import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { notFound } from '../../kernel/refusal.ts'
import type { Secrets } from '../../projects/secrets.ts'
import type { IncludedColumn } from './columns.ts'

/**
 * The types, and the order of their rows: the log of events, the users in the order of their recording, or the purchases in that order. The
 * types of state have one row for each object, whatever the window.
 */
export const EXPORT_TYPES = {
  events: { order: 'log', isState: false },
  purchases: { order: 'log', isState: false },
  customers: { order: 'users', isState: false },
  purchases_state: { order: 'purchases', isState: true },
  subscriptions: { order: 'users', isState: true },
  entitlements: { order: 'users', isState: true },
} as const
export type ExportType = keyof typeof EXPORT_TYPES

/** Whether a file of the type may have further columns. */
export const takesIncluded = (type: FileType): boolean => type !== OF_CHARTS && EXPORT_TYPES[type].order === 'log'

/** The types of one order, as a list in SQL. */
export const typesOrderedBy = (order: (typeof EXPORT_TYPES)[ExportType]['order']): string =>
  Object.entries(EXPORT_TYPES)
    .filter(([, type]) => type.order === order)
    .map(([name]) => `'${name}'`)
    .join(', ')

export type ExportFormat = 'csv' | 'json' | 'ndjson' | 'parquet'

/** Files that reports make of charts, besides those of rows: figures of all customers together, and nothing of one of them. */
export const OF_CHARTS = 'charts'
export type FileType = ExportType | typeof OF_CHARTS
export type FileFormat = ExportFormat | 'html'
/** How long a file can be downloaded. */
export const FILE_DAYS = 7

type ExportStatus = 'new' | 'processing' | 'done' | 'failed' | 'cancelled'
export type Part = { name: string; rows: number; bytes: number }
export type ExportFailure = { code: 'storage_error' | 'upstream_timeout' | 'unknown_error'; message: string }

export type ExportRow = {
  id: string
  status: ExportStatus
  type: FileType
  format: FileFormat
  compression: 'none' | 'gzip'
  formula_guard: boolean
  include: IncludedColumn[]
  platform: 'iOS' | 'Android' | 'Stripe' | null
  segment_id: string | null
  from_timestamp: string
  to_timestamp: string
  /**
   * In real time: the time since which the file has changes, and the edge at which the next file of changes begins once this one is done
   * (null: it has none).
   */
  updated_from: string | null
  updated_to: string | null
  from_offsets: number[]
  to_offsets: number[]
  rows_written: number
  bytes: number | null
  sha256: string | null
  parts: Part[] | null
  error: ExportFailure | null
  created_at: string
  expires_at: string | null
  is_expired: boolean
  /** The report run whose file it is. */
  report_run: string | null
  /** The report of that run. Only reads have it: an export is made with its run. */
  report_id?: string | null
}

export const EXPORT_COLUMNS = `id, status, type, format, compression, formula_guard, include, platform, segment_id, from_timestamp, to_timestamp, updated_from, updated_to, from_offsets, to_offsets,
  rows_written, bytes, sha256, parts, error, created_at, expires_at, coalesce(expires_at <= environment_now(environment), false) as is_expired, report_run`

const READ_COLUMNS = `${EXPORT_COLUMNS}, (select r.report_id from report_runs r where r.environment = exports.environment and r.id = exports.report_run) as report_id`

/** Reason of an export that somebody cancelled. */
const EXPORT_CANCELLED = 'cancelled_by_api'

/** In SQL: why an export has no file, as the ledger counts it. */
export const EXPORT_REASON = `case when status = 'cancelled' then '${EXPORT_CANCELLED}' else error ->> 'code' end`

export async function getExport(db: Db, environment: Environment, id: string): Promise<ExportRow> {
  const { rows } = await db.query<ExportRow>(`select ${READ_COLUMNS} from exports where environment = $1 and id = $2`, [environment, id])
  if (!rows[0]) throw notFound('export')
  return rows[0]
}

/**
 * The export that a signed URL names. The URL names no environment, but ids are unique over all environments. Null when unknown, unfinished
 * or expired.
 */
export async function findDownload(db: Db, id: string): Promise<ExportRow | null> {
  const { rows } = await db.query<ExportRow>(`select ${EXPORT_COLUMNS} from exports where id = $1 and status = 'done'`, [id])
  return rows[0] && !rows[0].is_expired ? rows[0] : null
}

const LISTED = { table: 'exports', columns: READ_COLUMNS, order: 'newest' as const }

/** Newest first, after the row `after`. Returns `limit` + 1 rows when more rows follow. */
export const listExports = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<ExportRow>> =>
  pageOf(db, LISTED, environment, { limit, after })

type SignedExport = Pick<ExportRow, 'id' | 'expires_at'>

const downloadSignature = (secrets: Secrets, { id, expires_at }: SignedExport): string => secrets.sign(`export:${id}:${expires_at}`)

/** Whether a caller has the signature of the file. Compared as bytes: a text of as many characters may have more of them. */
export function isSignatureOf(secrets: Secrets, file: SignedExport, given: string): boolean {
  const [own, other] = [Buffer.from(downloadSignature(secrets, file)), Buffer.from(given)]
  return own.length === other.length && timingSafeEqual(own, other)
}

/** The URL of a finished export. It needs no key and is valid until the export expires. */
export const downloadUrl = (secrets: Secrets, publicUrl: string, file: SignedExport): string =>
  `${publicUrl}/files/exports/${file.id}?signature=${downloadSignature(secrets, file)}`

/** The URL of the picture of a chart of a finished file, counted from 0. It is valid as long as that of the file. */
export const pictureUrl = (secrets: Secrets, publicUrl: string, file: SignedExport, at: number): string =>
  `${publicUrl}/files/exports/${file.id}/charts/${at + 1}.png?signature=${downloadSignature(secrets, file)}`
