import { audit } from '../../domain/audit/record.ts'
import { slugOf } from '../../domain/events/catalogue.ts'
import { getConfig } from '../../domain/integrations/config.ts'
import { assertUsable, countTest } from '../../domain/integrations/start-test.ts'
import { invalidField } from '../../domain/refusal.ts'
import { Problem } from '../errors.ts'
import { preparedTransaction } from '../operation.ts'
import { open, sampleOf } from './integration-start.ts'

export const v4TestIntegration = preparedTransaction(
  'v4TestIntegration',
  async call => {
    const { path, body, environment, db, deps } = call
    const name = slugOf(body.event ?? 'trial_started')
    if (name === null) throw invalidField('event', 'names no event type')
    const config = await getConfig(db, environment, path.integration_id)
    const opened = open(call, config)
    assertUsable(deps.probe, config.slug, opened)
    const wait = await countTest(db, environment, config.id)
    if (wait !== null)
      throw new Problem('rate_limit_exceeded', `ten tests a minute; try again in ${wait} s`, { headers: { 'Retry-After': String(wait) } })
    return deps.probe.tryIntegration(await sampleOf(call, config, opened, name))
  },
  async ({ path, trail, tx, prepared }) => {
    const { ok, http_status, duration_ms, error } = prepared
    const url = `/v4/integrations/${path.integration_id}/test`
    const result = { object: 'integration_test' as const, url, ok, http_status, duration_ms, error }
    await audit(tx, trail, { resource: 'integration_test', id: path.integration_id, after: result })
    return { body: result }
  },
)
