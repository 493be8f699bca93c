import { localTimeOf } from '../../domain/kernel/time/local-time.ts'
import type { ReportDelivery } from './report-destination.ts'

/** A report as text, one fact a line. Its readers live by the clocks of its zone. */
export const reportAsText = ({ report, run, export: { rows, format, file_url, expires_at } }: ReportDelivery): string[] => [
  `${report.name.replaceAll(/\s+/g, ' ')}${run.test ? ' (test)' : ''}`,
  `Events from ${localTimeOf(run.from, report.timezone)} to ${localTimeOf(run.to, report.timezone)} (${report.timezone})`,
  `Rows: ${rows}`,
  `File (${format}): ${file_url}`,
  `The link expires at ${localTimeOf(expires_at, report.timezone)}`,
]

/** A report as the body of a webhook. */
export const reportAsJson = ({ report, run, export: file }: ReportDelivery): string =>
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
  })
