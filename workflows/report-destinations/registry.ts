import type { GoogleTokens } from '../outgoing/google-token.ts'
import type { Guard } from '../outgoing/guard.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { emailReportDestination } from './email.ts'
import { googleCloudStorage } from './google-cloud-storage.ts'
import type { ReportDestination, ReportSlug } from './report-destination.ts'
import { slackReportDestination } from './slack.ts'
import { webhooksReportDestination } from './webhooks.ts'

/** One `outgoing` and one `tokens` for the process; `guard` for connections without `outgoing` (SMTP, the S3 client). */
export type ReportDestinationDeps = { outgoing: Outgoing; guard: Guard; tokens: GoogleTokens }

/** The S3 client is loaded at its first use, because it is a large part of all code. */
const amazonS3 = (guard: Guard): ReportDestination => {
  const load = async () => (await import('./amazon-s3.ts')).amazonS3(guard)
  return {
    deliver: async (delivery, scope) => (await load()).deliver(delivery, scope),
    test: async scope => (await load()).test(scope),
  }
}

export const reportDestinations = ({ outgoing, guard, tokens }: ReportDestinationDeps): Record<ReportSlug, ReportDestination> => ({
  webhooks: webhooksReportDestination(outgoing),
  slack: slackReportDestination(outgoing),
  email: emailReportDestination(guard),
  amazon_s3: amazonS3(guard),
  google_cloud_storage: googleCloudStorage(outgoing, tokens),
})
