import type { ReportDelivery } from './report-destination.ts'

const CONTENT_TYPES = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
} as const

/** `2026-01-02T09:00:00Z` as it stands in names. */
const compact = (time: string) => time.replaceAll(/[-:]/g, '')

const prefixOf = (prefix: unknown) => (typeof prefix === 'string' ? prefix : '')

/** Where the file of a window lies, and what it is: the same for every attempt, so that a repeat overwrites it. */
export const objectOf = ({ report, run, export: { format } }: ReportDelivery, prefix: unknown): { name: string; contentType: string } => ({
  name: `${prefixOf(prefix)}${report.id}/${compact(run.from)}_${compact(run.to)}.${format}`,
  contentType: CONTENT_TYPES[format],
})

/** Written after the file: where there is a manifest, the file is whole. */
export const manifestOf = (name: string): string => `${name}.manifest.json`

export const testObject = (prefix: unknown): { name: string; content: string } => ({
  name: `${prefixOf(prefix)}connection-test.txt`,
  content: 'Perennial can write here. This file may be deleted.\n',
})
