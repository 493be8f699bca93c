import type { Readable } from 'node:stream'
import type { FileFormat } from '../../domain/reporting/exports/export.ts'
import type { Sent, Settings } from '../destinations/destination.ts'
import type { DeliveredCharts } from '../report-charts/delivered.ts'

/** A finished file and its description. Times are ISO 8601, UTC, whole seconds. `timezone`: of the report's schedule. */
export type ReportDelivery = {
  report: { id: string; name: string; timezone: string }
  /** `slot` null and `test` true for a send-test. [from, to) is the window. `resends`: how often a resend was requested, this one included. */
  run: { id: string; slot: string | null; from: string; to: string; test: boolean; resends: number }
  export: {
    rows: number
    bytes: number
    sha256: string
    format: FileFormat
    file_url: string
    expires_at: string
    /** As the API shows it. */
    manifest: object & { columns_version: number }
    /** Reads from the first byte on; rejects when the file cannot be read. Called once per attempt at most. */
    openFile(): Promise<Readable>
  }
  /** Of a report of charts; null: its file has rows. */
  charts: DeliveredCharts | null
}

/** `settings`: with defaults filled in and secrets decrypted. `environment` selects one of a webhook's two addresses. */
export type ReportScope = {
  integration: { id: string }
  environment: 'production' | 'sandbox'
  settings: Settings
  /** The recipients that accepted this delivery at an earlier attempt. */
  acceptedBy?: readonly string[]
  signal: AbortSignal
}

/** `acceptedBy`: the recipients that have accepted the delivery so far, where a repeat must leave them out. */
export type ReportSent = Sent & { acceptedBy?: readonly string[] }

/**
 * A receiver of report files. Neither call throws for what the receiver does; `deliver` throws when our own file cannot be read, both throw
 * the signal's reason. A repeat for the same run overwrites the same object or carries the same id.
 */
export type ReportDestination = {
  deliver(delivery: ReportDelivery, scope: ReportScope): Promise<ReportSent>
  /** Sends one sample, for the test of the integration; null where the sample is an event (webhooks). */
  test: ((scope: ReportScope) => Promise<Sent>) | null
}

export const REPORT_SLUGS = ['webhooks', 'slack', 'email', 'amazon_s3', 'google_cloud_storage'] as const
export type ReportSlug = (typeof REPORT_SLUGS)[number]
