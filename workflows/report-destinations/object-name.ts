import type { ReportDelivery } from './report-destination.ts'

const CONTENT_TYPES = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
  html: 'text/html; charset=utf-8',
} as const

/** `2026-01-02T09:00:00Z` without `-` and `:`, for names. */
const compact = (time: string) => time.replaceAll(/[-:]/g, '')

const prefixOf = (prefix: unknown) => (typeof prefix === 'string' ? prefix : '')

/**
 * Name and type of the file of a window: the same at every attempt, so that a repeat overwrites the object. A test of charts has the window of the slot of that
 * day, whose file it must leave as it is.
 */
export const objectOf = (
  { report, run, charts, export: { format } }: ReportDelivery,
  prefix: unknown,
): { name: string; contentType: string } => ({
  name: `${prefixOf(prefix)}${report.id}/${compact(run.from)}_${compact(run.to)}${charts && run.test ? '_test' : ''}.${format}`,
  contentType: CONTENT_TYPES[format],
})

/** The manifest is written after the file: a manifest means that the file is complete. */
export const manifestNameOf = (name: string): string => `${name}.manifest.json`

export const testObject = (prefix: unknown): { name: string; content: string } => ({
  name: `${prefixOf(prefix)}connection-test.txt`,
  content: 'Perennial can write here. This file may be deleted.\n',
})
