import { sendWebhook } from '../destinations/webhooks.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import type { ReportDestination } from './report-destination.ts'
import { reportAsJson } from './report-message.ts'

export const webhooksReportDestination = (outgoing: Outgoing): ReportDestination => ({
  deliver: (delivery, { settings, environment, integration, signal }) =>
    sendWebhook({ outgoing, settings, environment, id: `${delivery.run.id}.${integration.id}`, body: reportAsJson(delivery), signal }),
  test: null,
})
