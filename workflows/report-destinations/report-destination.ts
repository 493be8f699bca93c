import type { Readable } from 'node:stream'
import type { ExportFormat } from '../../domain/exports/export.ts'
import type { Sent, Settings } from '../destinations/destination.ts'
import type { Guard } from '../outgoing/guard.ts'
import type { Outgoing } from '../outgoing/request.ts'

/** A finished file and what is to be told of it. Times are ISO 8601, UTC, whole seconds. */
export type ReportDelivery = {
  report: { id: string; name: string }
  /** `slot` null and `test` true for a send-test. [from, to) is the window; `resends` counts up to this one. */
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
    /** From the first byte on; rejects when the file cannot be read. Asked for once per attempt. */
    openFile(): Promise<Readable>
  }
}

export type ReportScope = {
  outgoing: Outgoing
  integration: { id: string }
  /** Of the project: chooses between a webhook's two addresses. */
  environment: 'production' | 'sandbox'
  /** For connections that do not go through `outgoing` (SMTP, the S3 client). */
  guard: Guard
  signal: AbortSignal
}

/**
 * Where report files go. Neither throws for what the other side does; `deliver` throws only when our own file cannot be read. A repeat
 * of `deliver` for the same run overwrites, or carries the same id.
 */
export type ReportDestination = {
  slug: 'webhooks' | 'slack' | 'email' | 'amazon_s3' | 'google_cloud_storage'
  deliver(delivery: ReportDelivery, settings: Settings, scope: ReportScope): Promise<Sent>
  /** One sample, for the test of the integration; null where the test of its events serves (webhooks). */
  test: ((settings: Settings, scope: ReportScope) => Promise<Sent>) | null
}
