import type { TestApi } from '../api.ts'
import { endedDelivery } from '../job-rows.ts'
import type { Told } from './tell.ts'
import { HOSTILE, iso, LONGEST } from './texts.ts'

/** Integrations of hostile names, and a delivery with hostile answers. */
export async function hostileIntegration(api: TestApi): Promise<Pick<Told, 'integration' | 'delivery'>> {
  const make = async (title: string) =>
    (await api.call('POST', '/v4/integrations', { body: { title, integration: 'webhooks', target_platform: 'iOS' } })).body.id
  for (const text of HOSTILE) await make(text)
  // Its page has the title.
  const integration = await make(HOSTILE[6]!)
  const settings = { url: `https://example.org/${'x'.repeat(900)}`, authorization_token: LONGEST }
  const names = { note_1: HOSTILE[2], note_2: LONGEST.slice(0, 255) }
  await api.call('PUT', `/v4/integrations/${integration}/config`, { body: { settings, events: ['*', 'note_1'], event_mapping: names } })
  const delivery = await endedDelivery(api.pool, integration)
  const attempts = HOSTILE.map((text, n) => ({
    ...{ number: n + 1, started_at: iso(-1), duration_ms: n === 0 ? null : n * 1_000, http_status: n % 2 === 0 ? null : 500 },
    ...{ error: text, response: n === 1 ? LONGEST : text },
  }))
  await api.pool.query('update deliveries set attempts = $2, attempt_count = 30 where id = $1', [delivery, JSON.stringify(attempts)])
  await api.pool.query('update integrations set active = 2, last_error_message = $2, last_error_at = now() where id = $1', [
    integration,
    LONGEST,
  ])
  return { integration, delivery }
}
