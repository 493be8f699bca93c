import type { GoogleTokens } from '../outgoing/google-token.ts'
import type { Guard } from '../outgoing/guard.ts'
import type { Outgoing } from '../outgoing/request.ts'
import { amazonS3 } from './amazon-s3.ts'
import { email } from './email.ts'
import { googleCloudStorage } from './google-cloud-storage.ts'
import type { ReportDestination, ReportSlug } from './report-destination.ts'
import { slack } from './slack.ts'
import { webhooks } from './webhooks.ts'

/** The ways out: one `outgoing` and one `tokens` for the process; `guard` for what speaks no HTTP of ours (SMTP, the S3 client). */
export type WaysOut = { outgoing: Outgoing; guard: Guard; tokens: GoogleTokens }

export const reportDestinations = ({ outgoing, guard, tokens }: WaysOut): Record<ReportSlug, ReportDestination> => ({
  webhooks: webhooks(outgoing),
  slack: slack(outgoing),
  email: email(guard),
  amazon_s3: amazonS3(guard),
  google_cloud_storage: googleCloudStorage(outgoing, tokens),
})
