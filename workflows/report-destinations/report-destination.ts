import type { Readable } from 'node:stream'
import type { ExportFormat } from '../../domain/exports/export.ts'
import type { Sent, Settings } from '../destinations/destination.ts'

/** A finished file and what is to be told of it. Times are ISO 8601, UTC, whole seconds. */
export type ReportDelivery = {
  report: { id: string; name: string }
  /**
   * `slot` null and `test` true for a send-test. [from, to) is the window. `resends`: how often it was asked to be sent again, this time
   * included.
   */
  run: { id: string; slot: string | null; from: string; to: string; test: boolean; resends: number }
  export: {
    rows: number
    bytes: number
    sha256: string
    format: ExportFormat
    file_url: string
    expires_at: string
    /** As the API shows it. */
    manifest: object & { columns_version: number }
    /** From the first byte on; rejects when the file cannot be read. Asked for once per attempt at most. */
    openFile(): Promise<Readable>
  }
}

/** `settings`: opened, with defaults. `environment` chooses between a webhook's two addresses. */
export type ReportScope = {
  integration: { id: string }
  environment: 'production' | 'sandbox'
  settings: Settings
  /** Who of several took this delivery at an earlier attempt. */
  takenBy?: readonly string[]
  signal: AbortSignal
}

/** `takenBy`: who has it by now, where a repeat must leave somebody out. */
export type Brought = Sent & { takenBy?: readonly string[] }

/**
 * Where report files go. Neither call throws for what the other side does; `deliver` throws when our own file cannot be read, both throw
 * the signal's reason. A repeat for the same run overwrites the same object or carries the same id.
 */
export type ReportDestination = {
  deliver(delivery: ReportDelivery, scope: ReportScope): Promise<Brought>
  /** One sample, for the test of the integration; null where that is a sample event (webhooks). */
  test: ((scope: ReportScope) => Promise<Sent>) | null
}

export const REPORT_SLUGS = ['webhooks', 'slack', 'email', 'amazon_s3', 'google_cloud_storage'] as const
export type ReportSlug = (typeof REPORT_SLUGS)[number]
