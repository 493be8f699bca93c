import { classifyResponse } from '../destinations/classify-response.ts'
import type { Sent } from '../destinations/destination.ts'
import { slackText } from '../destinations/slack.ts'
import type { Outgoing, OutgoingResponse } from '../outgoing/outgoing.ts'
import { blocksOfCharts } from '../report-charts/slack.ts'
import type { ReportDelivery, ReportDestination, ReportScope } from './report-destination.ts'
import { fileAsText, reportAsText, reportName } from './report-message.ts'

type Post = (message: object) => Promise<OutgoingResponse>

const postTo =
  (outgoing: Outgoing, { settings, signal }: ReportScope): Post =>
  message =>
    outgoing.request({
      method: 'POST',
      url: String(settings.webhook_url),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      signal,
    })

/** Slack answers so where it does not get a picture, or knows a block no longer. */
const refusesBlocks = (response: OutgoingResponse) => response.is === 'response' && response.status === 400

/** Where Slack does not take the pictures, the same words go without them, in the same attempt. */
async function deliver(post: Post, delivery: ReportDelivery): Promise<Sent> {
  const text = slackText(reportAsText(delivery).join('\n'))
  const blocks = delivery.charts && (await blocksOfCharts(reportName(delivery), fileAsText(delivery), delivery.charts, slackText))
  if (blocks) {
    const response = await post({ text, blocks })
    if (!refusesBlocks(response)) return classifyResponse(response)
  }
  return classifyResponse(await post({ text }))
}

export const slackReportDestination = (outgoing: Outgoing): ReportDestination => ({
  deliver: (delivery, scope) => deliver(postTo(outgoing, scope), delivery),
  test: async scope => classifyResponse(await postTo(outgoing, scope)({ text: 'Perennial can write here.' })),
})
