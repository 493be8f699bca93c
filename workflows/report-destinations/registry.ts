import type { GoogleTokens } from '../outgoing/google-token.ts'
import type { Guard } from '../outgoing/guard.ts'
import type { Outgoing } from '../outgoing/request.ts'
import { email } from './email.ts'
import { googleCloudStorage } from './google-cloud-storage.ts'
import type { ReportDestination, ReportSlug } from './report-destination.ts'
import { slack } from './slack.ts'
import { webhooks } from './webhooks.ts'

/** The ways out: one `outgoing` and one `tokens` for the process; `guard` for what speaks no HTTP of ours (SMTP, the S3 client). */
export type WaysOut = { outgoing: Outgoing; guard: Guard; tokens: GoogleTokens }

/** The S3 client is loaded by whoever has something to send there: it is a good part of what there is to load. */
const amazonS3 = (guard: Guard): ReportDestination => {
  const load = async () => (await import('./amazon-s3.ts')).amazonS3(guard)
  return {
    deliver: async (delivery, scope) => (await load()).deliver(delivery, scope),
    test: async scope => (await load()).test(scope),
  }
}

export const reportDestinations = ({ outgoing, guard, tokens }: WaysOut): Record<ReportSlug, ReportDestination> => ({
  webhooks: webhooks(outgoing),
  slack: slack(outgoing),
  email: email(guard),
  amazon_s3: amazonS3(guard),
  google_cloud_storage: googleCloudStorage(outgoing, tokens),
})
