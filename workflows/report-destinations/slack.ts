import { classified } from '../destinations/classify-response.ts'
import type { Sent } from '../destinations/destination.ts'
import type { Outgoing } from '../outgoing/request.ts'
import type { ReportDestination, ReportScope } from './report-destination.ts'
import { toldInWords } from './told.ts'

/** Otherwise a name could mention everybody in the channel (`<!channel>`) or hide where a link leads. */
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

async function post(outgoing: Outgoing, text: string, { settings, signal }: ReportScope): Promise<Sent> {
  const body = JSON.stringify({ text: escaped(text) })
  const headers = { 'content-type': 'application/json' }
  return classified(await outgoing.request({ method: 'POST', url: String(settings.webhook_url), headers, body, signal }))
}

export const slack = (outgoing: Outgoing): ReportDestination => ({
  deliver: (delivery, scope) => post(outgoing, toldInWords(delivery).join('\n'), scope),
  test: scope => post(outgoing, 'Perennial can write here.', scope),
})
