import type { Db } from '../../../store/connect.ts'
import type { RunSubject } from '../../durable/jobs/workflow-run.ts'
import { CONFIG_COLUMNS, type IntegrationConfig } from '../../integrations/config.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { ExportRow } from '../exports/export.ts'
import type { ReportFigures } from './chart-figures.ts'
import { deliveryOf } from './run.ts'

/** The file and the destination of one attempt. `file` null: the file is deleted. `target` null: the integration is deleted. */
export type LoadedDelivery = {
  report: { id: string; name: string; timezone: string }
  run: { id: string; slot: string | null; from: string; to: string; test: boolean; resends: number }
  file: (StoredFile & { expires_at: string }) | null
  target: IntegrationConfig | null
  environment: EnvironmentKind
  project: string
  isRawDataOn: boolean
  /** From which the pictures and words of a run of charts are made; null: it is one of rows. */
  figures: ReportFigures | null
}

type StoredFile = Pick<
  ExportRow,
  'id' | 'type' | 'status' | 'format' | 'rows_written' | 'bytes' | 'sha256' | 'parts' | 'from_offsets' | 'to_offsets' | 'expires_at'
>

type Row = Omit<StoredFile, 'id'> & {
  nth: number
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
  target: IntegrationConfig | null
  environment: EnvironmentKind
  project: string
  raw: boolean
  figures: ReportFigures | null
}

// One probe of an index for each table, whatever the statistics say.
const LOAD = `
  select k.nth::int, r.id as run, r.slot, r.window_from as from, r.window_to as to, r.kind = 'test' as test, r.resends, p.id as report,
    p.report_name as name, p.timezone, v.kind as environment, o.raw_data as raw, o.id::text as project, r.figures, x.*, to_jsonb(i.*) as target
  from unnest($1::int[], $2::text[], $3::text[]) with ordinality k(environment, run, destination, nth)
    cross join lateral (select * from report_runs where environment = k.environment and id = k.run limit 1) r
    cross join lateral (select id, report_name, timezone from scheduled_reports where environment = r.environment and id = r.report_id limit 1) p
    cross join lateral (select kind, project, clock_offset from environments where id = r.environment limit 1) v
    cross join lateral (select id, raw_data from projects where id = v.project limit 1) o
    left join lateral (
      select id as file, status = 'done' and expires_at > clock_timestamp() + v.clock_offset as is_there, type, status, format, rows_written, bytes, sha256,
        parts, from_offsets, to_offsets, expires_at
      from exports where environment = r.environment and id = r.export_id limit 1) x on true
    left join lateral (
      select ${CONFIG_COLUMNS} from integrations i where i.environment = r.environment and i.id = k.destination and i.deleted_at is null limit 1) i on true`

const loadedOf = (row: Row): LoadedDelivery => {
  const { type, status, format, rows_written, bytes, sha256, parts, from_offsets, to_offsets } = row
  const stored = { id: row.file, type, status, format, rows_written, bytes, sha256, parts, from_offsets, to_offsets }
  return {
    report: { id: row.report, name: row.name, timezone: row.timezone },
    run: { id: row.run, slot: row.slot, from: row.from, to: row.to, test: row.test, resends: row.resends },
    file: row.is_there ? { ...stored, expires_at: row.expires_at! } : null,
    target: row.target,
    environment: row.environment,
    project: row.project,
    isRawDataOn: row.raw,
    figures: row.figures,
  }
}

/** By delivery, in order. Null: retention has deleted the run. */
export async function loadReportDeliveries(db: Db, deliveries: readonly RunSubject[]): Promise<(LoadedDelivery | null)[]> {
  const keys = deliveries.map(({ subject }) => deliveryOf(subject))
  const { rows } = await db.query<Row>({
    name: 'load-report-deliveries',
    text: LOAD,
    values: [deliveries.map(({ environment }) => environment), keys.map(({ run }) => run), keys.map(({ destination }) => destination)],
  })
  const loaded = new Map(rows.map(row => [row.nth, loadedOf(row)]))
  return deliveries.map((_, i) => loaded.get(i + 1) ?? null)
}
