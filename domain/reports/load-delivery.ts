import type { Db } from '../../store/connect.ts'
import type { Environment, EnvironmentKind } from '../environment.ts'
import type { ExportRow } from '../exports/export.ts'
import { deliveryOf } from './run.ts'

/** What one attempt delivers, and where to. `file` null: the file is gone. `target` null: the integration is deleted. */
export type LoadedDelivery = {
  report: { id: string; name: string; timezone: string }
  run: { id: string; slot: string | null; from: string; to: string; test: boolean; resends: number }
  file: (StoredFile & { expires_at: string }) | null
  target: { id: string; slug: string; active: 0 | 1 | 2 } | null
  environment: EnvironmentKind
  isRawDataOn: boolean
}

type StoredFile = Pick<
  ExportRow,
  'id' | 'type' | 'status' | 'format' | 'rows_written' | 'bytes' | 'sha256' | 'parts' | 'from_offsets' | 'to_offsets' | 'expires_at'
>

type Row = Omit<StoredFile, 'id'> & {
  run: string
  slot: string | null
  from: string
  to: string
  test: boolean
  resends: number
  report: string
  name: string
  timezone: string
  file: string
  is_there: boolean
  target: string | null
  slug: string
  active: 0 | 1 | 2
  environment: EnvironmentKind
  raw: boolean
}

const LOAD = `
  select r.id as run, r.slot, r.window_from as from, r.window_to as to, r.kind = 'test' as test, r.resends, p.id as report, p.report_name as name, p.timezone,
    v.kind as environment, o.raw_data as raw, i.id as target, i.slug, i.active,
    x.id as file, coalesce(x.status = 'done' and x.expires_at > environment_now($1), false) as is_there, x.type, x.status, x.format, x.rows_written, x.bytes,
    x.sha256, x.parts, x.from_offsets, x.to_offsets, x.expires_at
  from report_runs r
    join scheduled_reports p on p.environment = r.environment and p.id = r.report_id
    join environments v on v.id = r.environment
    join projects o on o.id = v.project
    left join exports x on x.environment = r.environment and x.id = r.export_id
    left join integrations i on i.environment = r.environment and i.id = $3 and i.deleted_at is null
  where r.environment = $1 and r.id = $2`

/** Null: retention has deleted the run. */
export async function loadDelivery(db: Db, environment: Environment, subject: string): Promise<LoadedDelivery | null> {
  const { run, destination } = deliveryOf(subject)
  const { rows } = await db.query<Row>({ name: 'load-report-delivery', text: LOAD, values: [environment, run, destination] })
  const row = rows[0]
  if (!row) return null
  const { type, status, format, rows_written, bytes, sha256, parts, from_offsets, to_offsets } = row
  const stored = { id: row.file, type, status, format, rows_written, bytes, sha256, parts, from_offsets, to_offsets }
  return {
    report: { id: row.report, name: row.name, timezone: row.timezone },
    run: { id: row.run, slot: row.slot, from: row.from, to: row.to, test: row.test, resends: row.resends },
    file: row.is_there ? { ...stored, expires_at: row.expires_at! } : null,
    target: row.target === null ? null : { id: row.target, slug: row.slug, active: row.active },
    environment: row.environment,
    isRawDataOn: row.raw,
  }
}
