import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Resources } from './resources.ts'

/** A receiver of webhooks. Calls `onEvent` with the id of each event and its user when its body has arrived, and responds after `hangMs`. */
export async function sink(
  resources: Resources,
  onEvent: (eventId: string, path: string, user: string) => void,
  hangMs = 0,
): Promise<string> {
  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { event_id = '', user_id = '' } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as { event_id?: string; user_id?: string }
    onEvent(event_id, request.url ?? '', user_id)
    // The probe of an activation needs its response at once.
    setTimeout(() => response.end('ok'), event_id === '' || request.url?.endsWith('/probe') ? 0 : hangMs)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  resources.undo(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export type Caller = (method: string, path: string, body?: unknown) => Promise<{ id: string } & Record<string, unknown>>

export const caller =
  (url: string, key: string): Caller =>
  async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
    return text === '' ? {} : JSON.parse(text)
  }

/** Creates an active webhook integration that sends these event types to `to`: those of the platform, and those without one. */
export async function webhookTo(call: Caller, to: string, events: string[], target_platform = 'iOS'): Promise<string> {
  const { id } = await call('POST', '/v4/integrations', { title: 'Sink', integration: 'webhooks', target_platform })
  await call('PUT', `/v4/integrations/${id}/config`, { settings: { url: to }, events })
  await call('POST', `/v4/integrations/${id}/status`, { status: 1 })
  return id
}

/** Creates an active automation with one step, which each event of the type starts. */
export async function automationOn(call: Caller, event: string, step: { type: string; [more: string]: unknown }): Promise<void> {
  await call('POST', '/v4/automations', {
    name: 'Hook',
    status: 'active',
    data: { initiators: [{ uid: event, type: 'event' }], actions: {}, steps: [{ id: 'only', ...step }] },
  })
}

/** Creates an active automation whose only step calls the integration. */
export const hookOn = (call: Caller, event: string, integration: string): Promise<void> =>
  automationOn(call, event, { type: 'webhook', integration_id: integration })

export const event = (name: string, id: string, person: string) => ({
  event_id: id,
  event_name: name,
  identity_id: person,
  happened_at: new Date().toISOString(),
})
