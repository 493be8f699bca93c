import type { Db, Tx } from '../../../store/connect.ts'
import { findView } from '../../analytics/views/view.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type ChartsOfRun, type ReportFigures, runCharts } from './chart-figures.ts'
import type { ReportChart } from './chart-window.ts'

const DAY = 86_400

type Row = Omit<ChartsOfRun, 'charts' | 'window' | 'days'> & { from: number; to: number; kept: ReportChart[] }

/**
 * The charts of a started run, and its file, which is being written from here on. A view is asked as it is now; one that is deleted, or has become
 * something else than a chart, as the report last asked it. Null: retention has deleted the run's file.
 */
export async function beginCharts(tx: Tx, environment: Environment, run: string): Promise<ChartsOfRun | null> {
  const { rows } = await tx.query<Row>({
    name: 'begin-report-charts',
    text: `with begun as (
             update exports x set status = 'processing', rows_written = 0 from report_runs r
             where r.environment = $1 and r.id = $2 and x.environment = r.environment and x.id = r.export_id and x.status in ('new', 'processing')
             returning x.id, x.format, x.formula_guard, r.report_id, r.window_from, r.window_to
           )
           select b.id as file, b.format, b.formula_guard as "formulaGuard", p.report_name as name, p.timezone as zone,
             extract(epoch from b.window_from)::float8 as from, extract(epoch from b.window_to)::float8 as to, v.kind,
             o.id::text as project, p.view_id as "viewId", p.charts as kept
           from begun b join scheduled_reports p on p.environment = $1 and p.id = b.report_id
             join environments v on v.id = $1 join projects o on o.id = v.project`,
    values: [environment, run],
  })
  if (!rows[0]) return null
  const { from, to, kept, ...begun } = rows[0]
  const charts = begun.viewId === null ? kept : await chartsOfView(tx, environment, run, begun.viewId, kept)
  // Of the window, and not of the report, which may have been changed since its slot. A day has up to 25 hours.
  return { ...begun, window: { from, to }, days: Math.max(1, Math.round((to - from) / DAY)), charts }
}

async function chartsOfView(db: Db, environment: Environment, run: string, id: string, kept: ReportChart[]): Promise<ReportChart[]> {
  const view = await findView(db, environment, id)
  if (view?.kind === 'chart') return [{ code: view.code!, query: view.query, name: view.name }]
  const { rows } = await db.query<{ code: string; query: Record<string, unknown>; title: string }>({
    name: 'last-charts-of-view',
    text: `select c.code, c.query, c.title from (
             select l.charts from report_runs r join report_runs l on l.environment = r.environment and l.report_id = r.report_id
             where r.environment = $1 and r.id = $2 and l.charts is not null and l.view_id = $3 order by l.created_at desc, l.id desc limit 1) f
             cross join jsonb_to_recordset(f.charts) c(code text, query jsonb, title text)`,
    values: [environment, run, id],
  })
  return rows.length > 0 ? rows.map(({ title, ...chart }) => ({ ...chart, name: title })) : kept
}

/** Records what a run shows, in the transaction that publishes its file. */
export async function recordFigures(
  tx: Tx,
  environment: Environment,
  run: string,
  viewId: string | null,
  figures: ReportFigures,
): Promise<void> {
  await tx.query({
    name: 'record-report-figures',
    text: `update report_runs set charts = $3, figures = $4, as_of = to_timestamp($5), view_id = $6 where environment = $1 and id = $2`,
    values: [environment, run, JSON.stringify(runCharts(figures)), JSON.stringify(figures), figures.asOf, viewId],
  })
}

/** The figures of the run whose file this is; null: it has none, or they are removed with the file. Ids of files are unique over all environments. */
export async function figuresOfFile(db: Db, file: string): Promise<ReportFigures | null> {
  const { rows } = await db.query<{ figures: ReportFigures | null }>({
    name: 'figures-of-file',
    text: `select r.figures from exports x join report_runs r on r.environment = x.environment and r.id = x.report_run where x.id = $1`,
    values: [file],
  })
  return rows[0]?.figures ?? null
}
