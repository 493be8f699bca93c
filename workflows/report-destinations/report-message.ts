import { localTimeOf } from '../../domain/kernel/time/local-time.ts'
import { headlineOf, runCharts } from '../../domain/reporting/reports/chart-figures.ts'
import { changeText, figureText, limitTexts, momentText, totalText, windowText } from '../report-charts/words.ts'
import type { ReportDelivery } from './report-destination.ts'

/** The report's name on one line. */
export const reportName = ({ report, run }: ReportDelivery): string => `${report.name.replaceAll(/\s+/g, ' ')}${run.test ? ' (test)' : ''}`

/** Where its file is, and until when. */
export const fileAsText = ({ report, export: { format, file_url, expires_at } }: ReportDelivery): string[] => [
  `File (${format}): ${file_url}`,
  `The link expires at ${localTimeOf(expires_at, report.timezone)}`,
]

/** A report as text, one fact a line. Its readers live by the clocks of its zone. */
export function reportAsText(delivery: ReportDelivery): string[] {
  const { report, run, charts, export: file } = delivery
  if (charts) return [reportName(delivery), ...chartsAsText(charts), ...fileAsText(delivery)]
  return [
    reportName(delivery),
    `Events from ${localTimeOf(run.from, report.timezone)} to ${localTimeOf(run.to, report.timezone)} (${report.timezone})`,
    `Rows: ${file.rows}`,
    ...fileAsText(delivery),
  ]
}

function chartsAsText({ figures: { figures, zone, asOf }, linkOf }: NonNullable<ReportDelivery['charts']>): string[] {
  return [
    `${windowText(figures[0]!.answer, zone)} (${zone}), against the same time before`,
    ...figures.flatMap(figure => [
      `${figure.title}: ${totalText(figure, zone)}`,
      ...limitTexts(figure).map(text => `  ${text}`),
      `  ${linkOf(figure)}`,
    ]),
    `Everything recorded before ${momentText(asOf, zone)} counts.`,
  ]
}

/** The subject of a mail: of charts the first figure with its change, of rows how many. */
export function reportSubject(delivery: ReportDelivery): string {
  const { report, charts, export: file } = delivery
  const [first] = charts?.figures.figures ?? []
  if (!first) return `${report.name}: ${file.rows} rows`
  const headline = headlineOf(first.answer)
  if (!headline) return `${report.name}: ${windowText(first.answer, report.timezone)}`
  const change = headline.isMoving ? 'still moving' : changeText(headline)
  return `${report.name}: ${first.title} ${figureText(headline.now, first.answer)}${change === null ? '' : ` (${change})`}`
}

/** A report as the body of a webhook. */
export const reportAsJson = ({ report, run, export: file, charts }: ReportDelivery): string =>
  JSON.stringify({
    report_id: report.id,
    report_name: report.name,
    run_id: run.id,
    slot: run.slot,
    from: run.from,
    to: run.to,
    rows: file.rows,
    columns_version: file.manifest.columns_version,
    sha256: file.sha256,
    format: file.format,
    file_url: file.file_url,
    expires_at: file.expires_at,
    test: run.test,
    ...(charts && {
      charts: runCharts(charts.figures),
      as_of: `${new Date(charts.figures.asOf * 1000).toISOString().slice(0, 19)}Z`,
    }),
  })
