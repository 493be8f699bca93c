import { NO_EVENT_TYPE, slugOf } from '../../../domain/events/catalogue.ts'
import { getConfig } from '../../../domain/integrations/config.ts'
import { deleteIntegration } from '../../../domain/integrations/deliveries/delete-integration.ts'
import { type WaitingDeliveries, withWaiting } from '../../../domain/integrations/deliveries/held.ts'
import { activateIntegration, pauseIntegration } from '../../../domain/integrations/deliveries/integration-status.ts'
import { createIntegration, type IntegrationRow, listIntegrations } from '../../../domain/integrations/integration.ts'
import { assertUsable, type ProbeResult } from '../../../domain/integrations/probe.ts'
import type { Provider } from '../../../domain/integrations/provider.ts'
import { categories, providerOf } from '../../../domain/integrations/providers.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import type { AnswerBody, Input } from '../../../schemas/operation-types.ts'
import type { Db, Tx } from '../../../store/connect.ts'
import { type ApiDeps, inTransaction, onPool, planned, preparedTransaction } from '../../operation.ts'
import { fullList } from '../../pagination.ts'
import { assertMayTest, assertProbed, open, type ProbeCall, probeBeforeStart, sampleOf, withoutSending } from './start.ts'

const integration = (row: IntegrationRow) => ({
  object: 'integration' as const,
  id: row.id,
  url: `/v4/integrations/${row.id}`,
  title: row.title,
  integration: providerOf(row.slug).title,
  target_platform: row.target_platform,
  active: row.active,
  created_at: row.created_at,
  updated_at: row.updated_at,
  last_delivery_at: row.last_delivery_at,
  last_error_at: row.last_error_at,
  last_error_message: row.last_error_message,
  delivery_error_count: row.delivery_error_count,
})

const shown = ({ held, held_since, lag_seconds, next_probe_at, ...row }: IntegrationRow & WaitingDeliveries) => ({
  ...integration(row),
  held,
  held_since,
  lag_seconds,
  next_probe_at,
})

const showOne = async (db: Db, row: IntegrationRow) => shown((await withWaiting(db, [row]))[0]!)

export const v4ListIntegrations = onPool('v4ListIntegrations', async ({ environment, db }) => ({
  body: fullList('/v4/integrations', (await withWaiting(db, await listIntegrations(db, environment))).map(shown)),
}))

export const v4CreateIntegration = inTransaction('v4CreateIntegration', async ({ body, environment, trail, tx }) => {
  const { title, integration: slug, target_platform: platform } = body
  const row = await createIntegration(tx, environment, { slug, title, platform })
  await audit(tx, trail, { resource: 'integration', id: row.id, after: integration(row) })
  return { body: await showOne(tx, row) }
})

const TAKES = { E: 'events', R: 'reports', A: 'automations' } as const

const provider = ({ title, slug, stores, takes, settings }: Provider) => ({
  ...{ title, slug, allowedStores: [...stores], takes: takes.map(what => TAKES[what]) },
  settings: settings.map(({ name, kind: type, required, choice = null, secret, default: unset }) => ({
    ...{ name, type, required, choice, secret },
    default: unset === undefined ? null : String(unset),
  })),
})

export const v4GetIntegrationsMeta = onPool('v4GetIntegrationsMeta', async () => ({
  body: {
    object: 'integrations_meta',
    url: '/v4/integrations/meta',
    data: categories().map(({ title, items }) => ({
      title,
      items: items.map(provider),
    })),
  } as AnswerBody<'v4GetIntegrationsMeta'>,
}))

type StatusChange = Pick<Input<'v4UpdateIntegrationStatus'>, 'path' | 'body'>
type Changing = StatusChange & { environment: Environment; deps: ApiDeps; trail: Trail; tx: Tx; prepared: string | null }

const probeForStatus = async (call: StatusChange & ProbeCall) =>
  call.body.status === 1 ? probeBeforeStart(call, call.path.integration_id) : null

async function changeStatus(call: Changing) {
  const { path, body, environment, trail, tx, prepared } = call
  const id = path.integration_id
  const { before, after } = await (body.status === 1 ? activateIntegration : pauseIntegration)(tx, environment, id)
  if (before && body.status === 1) await assertProbed(call, id, prepared)
  if (before) await audit(tx, trail, { resource: 'integration', id, before: integration(before), after: integration(after) })
  return { body: await showOne(tx, after) }
}

export const v4UpdateIntegrationStatus = planned(
  preparedTransaction('v4UpdateIntegrationStatus', probeForStatus, changeStatus),
  async call => {
    const quiet = withoutSending(call)
    await changeStatus({ ...quiet, prepared: await probeForStatus(quiet) })
  },
)

export const v4DeleteIntegration = inTransaction('v4DeleteIntegration', async ({ path, environment, trail, tx }) => {
  const row = await deleteIntegration(tx, environment, path.integration_id)
  await audit(tx, trail, { resource: 'integration', id: row.id, before: integration(row) })
  return { body: undefined }
})

async function sendTest(call: Pick<Input<'v4TestIntegration'>, 'path' | 'body'> & ProbeCall): Promise<ProbeResult> {
  const { path, body, environment, inTurn, deps } = call
  const name = slugOf(body.event ?? 'trial_started')
  if (name === null) throw invalidField('event', NO_EVENT_TYPE)
  const config = await inTurn(db => getConfig(db, environment, path.integration_id))
  const opened = open(call, config)
  assertUsable(deps.probe, config.slug, opened)
  await assertMayTest(call, config.id)
  return deps.probe.tryIntegration(await sampleOf(call, config, opened, name))
}

export const v4TestIntegration = planned(
  preparedTransaction('v4TestIntegration', sendTest, async ({ path, trail, tx, prepared }) => {
    const { ok, http_status, duration_ms, error } = prepared
    const url = `/v4/integrations/${path.integration_id}/test`
    const result = { object: 'integration_test' as const, url, ok, http_status, duration_ms, error }
    await audit(tx, trail, { resource: 'integration_test', id: path.integration_id, after: result })
    return { body: result }
  }),
  call => sendTest(withoutSending(call)),
)
