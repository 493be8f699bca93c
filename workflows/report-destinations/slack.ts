import { classifyResponse } from '../destinations/classify-response.ts'
import type { Sent } from '../destinations/destination.ts'
import { slackText } from '../destinations/slack.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import type { ReportDestination, ReportScope } from './report-destination.ts'
import { reportAsText } from './report-message.ts'

async function postText(outgoing: Outgoing, text: string, { settings, signal }: ReportScope): Promise<Sent> {
  const body = JSON.stringify({ text: slackText(text) })
  const headers = { 'content-type': 'application/json' }
  return classifyResponse(await outgoing.request({ method: 'POST', url: String(settings.webhook_url), headers, body, signal }))
}

export const slackReportDestination = (outgoing: Outgoing): ReportDestination => ({
  deliver: (delivery, scope) => postText(outgoing, reportAsText(delivery).join('\n'), scope),
  test: scope => postText(outgoing, 'Perennial can write here.', scope),
})
