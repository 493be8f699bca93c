import { classified } from '../destinations/classify-response.ts'
import type { Sent, Settings } from '../destinations/destination.ts'
import { nothingSent } from '../destinations/nothing-sent.ts'
import type { Outgoing } from '../outgoing/request.ts'
import { webhookHeaders } from '../outgoing/signature.ts'
import type { ReportDestination, ReportScope } from './report-destination.ts'
import { toldInJson } from './told.ts'

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)

const addressIn = ({ url, sandbox_url }: Settings, environment: ReportScope['environment']) =>
  text(environment === 'production' ? url : sandbox_url)

async function post(outgoing: Outgoing, id: string, body: string, { settings, environment, signal }: ReportScope): Promise<Sent> {
  const url = addressIn(settings, environment)
  if (!url) return nothingSent('retry', 'no_url')
  const secrets = [settings.signing_secret, settings.former_signing_secret].flatMap(secret => text(secret) ?? [])
  const headers = webhookHeaders({
    id,
    body,
    secrets,
    authorizationToken: text(settings.authorization_token),
    at: new Date(Date.now()),
  })
  const sent = classified(await outgoing.request({ method: 'POST', url, headers, body, signal }))
  if (sent.outcome !== 'reject') return sent
  // A receiver that is being mended answers anything; only 410 says that it is gone for good.
  return { ...sent, outcome: sent.httpStatus === 410 ? 'gone' : 'retry' }
}

export const webhooks = (outgoing: Outgoing): ReportDestination => ({
  deliver: (delivery, scope) => post(outgoing, `${delivery.run.id}.${scope.integration.id}`, toldInJson(delivery), scope),
  test: null,
})
