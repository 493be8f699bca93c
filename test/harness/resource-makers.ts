// Creates one resource of each kind through the API, by the name of the path parameter that has its id.
import { randomBytes } from 'node:crypto'
import { type Receiver, receiver } from './receiver.ts'
import { until } from './until.ts'

/** Makes a request that must succeed; returns the body of the response. */
// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
export type CallApi = (method: string, path: string, body?: unknown) => Promise<any>
export type MakerContext = {
  callApi: CallApi
  environment: 'prod' | 'sandbox'
  /** Reads the log for the automations, up to its end. */
  readLog(): Promise<void>
  /** Ends a run of a report as if its file had been built and delivered. */
  finishReport(run: string): Promise<void>
  /** Stores an ended delivery of an integration; gives its id. */
  endDelivery(integration: string): Promise<string>
}
/** Path parameters that have values already. */
export type Given = Record<string, string>
export type Make = (context: MakerContext, given: Given) => Promise<string>

/** An id that no other resource has. */
export const unique = (word: string) => `${word}-${randomBytes(9).toString('hex')}`

/** The id of a product in every store. */
export const storeProductOf = (product: string) => `store.${product}`

const create = async ({ callApi }: MakerContext, path: string, body: object): Promise<string> => (await callApi('POST', path, body)).id

const user: Make = (context, _given) => create(context, '/v4/users', { environment: context.environment })

const product: Make = (context, _given) => {
  const id = unique('product')
  const store = storeProductOf(id)
  const links = { apple_product_id: store, google_product_id: store, stripe_product_id: store, paddle_product_id: store }
  return create(context, '/v4/products', { id, type: 'subscription', duration: 'P1M', ...links })
}

/** An entitlement that no user has. */
export const definition = async (context: MakerContext) =>
  create(context, '/v4/entitlements', { id: unique('right'), product_ids: [await product(context, {})] })

async function granted(context: MakerContext, user_id: string | undefined): Promise<string> {
  const id = await definition(context)
  if (user_id) await context.callApi('POST', `/v4/users/${user_id}/entitlements`, { entitlement_id: id })
  return id
}

const group = (context: MakerContext, experiment: string, is_control: boolean) =>
  create(context, `/v4/experiments/${experiment}/groups`, { weight: 1, is_control })

async function experiment(context: MakerContext): Promise<string> {
  const id = await create(context, '/v4/experiments', { name: unique('experiment'), alias_id: unique('alias') })
  await group(context, id, true)
  await group(context, id, false)
  return id
}

async function purchase(context: MakerContext, user_id: string): Promise<string> {
  const app_store_data = { transaction_id: unique('transaction'), product_id: storeProductOf(await product(context, {})) }
  const body = { currency: 'USD', price: '9.99', purchased_at: '2026-03-01T09:00:00Z', app_store_data }
  return create(context, `/v4/users/${user_id}/purchases`, body)
}

/** An offering that is not the main offering. */
async function offering(context: MakerContext): Promise<string> {
  await create(context, '/v4/offerings', { id: unique('first') })
  return create(context, '/v4/offerings', { id: unique('offer'), product_ids: [await product(context, {})] })
}

const namedKey = (context: MakerContext) => create(context, '/v4/api-keys', { name: unique('key'), scopes: ['events:read'] })

/** A paused integration that pushes may name. */
export const messenger: Make = context =>
  create(context, '/v4/integrations', { title: unique('messenger'), integration: 'onesignal', target_platform: 'iOS' })

/** An active automation whose runs wait for a year. */
async function automation(context: MakerContext): Promise<string> {
  const initiators = [{ uid: unique('e'), type: 'event' }]
  const steps = [{ id: 'wait', type: 'delay', duration: 'P1Y' }]
  return create(context, '/v4/automations', { name: unique('automation'), status: 'active', data: { initiators, steps } })
}

/** A run that no worker has claimed. */
async function automationRun(context: MakerContext): Promise<string> {
  const id = await automation(context)
  const { data } = await context.callApi('GET', `/v4/automations/${id}`)
  const event = { event_id: unique('event'), event_name: data.initiators[0].uid, happened_at: '2026-03-01T09:00:00Z' }
  await context.callApi('POST', '/v4/events', { events: [{ ...event, customer_uid: await user(context, {}) }] })
  // Another test may read the log at this moment, and have the consumer's lock.
  return until('a run', async () => {
    await context.readLog()
    return (await context.callApi('GET', `/v4/automations/${id}/runs`)).data[0]?.id
  })
}

const WINDOW = { from_timestamp: '2026-02-01T00:00:00Z', to_timestamp: '2026-03-01T00:00:00Z' }

let hook: Promise<Receiver> | undefined
/** What all webhooks made here send to. */
export const sharedReceiver = (): Promise<Receiver> => {
  hook ??= receiver({ keepsProcessAlive: false })
  return hook
}

/** A paused webhook. All share one receiver, which accepts everything. */
async function integration(context: MakerContext): Promise<string> {
  const { url } = await sharedReceiver()
  const id = await create(context, '/v4/integrations', { title: unique('integration'), integration: 'webhooks', target_platform: 'iOS' })
  await context.callApi('PUT', `/v4/integrations/${id}/config`, { settings: { url, sandbox_url: url } })
  return id
}

async function report(context: MakerContext): Promise<string> {
  const destinations = [{ type: 'target_integration', id: await integration(context) }]
  const when = { send_at: '09:00', included_range_days: 1, status: 'active', environment: reportEnvironment(context) }
  return create(context, '/v4/scheduled-reports', { report_name: unique('report'), ...when, destinations })
}

/** The name of the environment in the API of reports. */
export const reportEnvironment = ({ environment }: MakerContext) => (environment === 'prod' ? 'production' : 'sandbox')

/** The destination of each run created here. */
const destinations = new Map<string, string>()
export const destinationOf: Make = async (_context, { run_id }) => destinations.get(run_id!) ?? 'int_nowhere'

export async function finishedReportRun(context: MakerContext): Promise<string> {
  const id = await report(context)
  await context.callApi('POST', `/v4/scheduled-reports/${id}/send-test`)
  const [run] = (await context.callApi('GET', `/v4/scheduled-reports/${id}/runs`)).data
  destinations.set(run.id, run.destinations[0].id)
  await context.finishReport(run.id)
  return run.id
}

export const resourceMakers: Record<string, Make> = {
  user_id: user,
  customer_id: user,
  identity_id: context => create(context, '/v4/identities', { identity_id: unique('person') }),
  product_id: product,
  entitlement_id: (context, { user_id }) => granted(context, user_id),
  permission_id: (context, { customer_id }) => granted(context, customer_id),
  purchase_id: (context, { user_id }) => purchase(context, user_id!),
  offering_id: offering,
  screen_id: context => create(context, '/v4/screens', { name: unique('screen') }),
  event_id: async ({ callApi }) => {
    const event = { event_id: unique('event'), event_name: 'opened', happened_at: '2026-03-01T09:00:00Z' }
    return (await callApi('POST', '/v4/events', { events: [event] })).results[0].id
  },
  export_id: context => create(context, '/v4/exports', WINDOW),
  segment_id: context => create(context, '/v4/segments', { name: unique('segment') }),
  config_id: context => create(context, '/v4/remote-configurations', { name: unique('config') }),
  experiment_id: experiment,
  group_id: (context, { experiment_id }) => group(context, experiment_id!, false),
  integration_id: integration,
  delivery_id: (context, { integration_id }) => context.endDelivery(integration_id!),
  key_id: namedKey,
  report_id: report,
  push_id: context => create(context, '/v4/pushes', { name: unique('push'), body: 'Hello' }),
  automation_id: automation,
  run_id: automationRun,
  platform: async () => 'apple',
  view_id: context => create(context, '/v4/analytics/views', { name: unique('view'), kind: 'ltv', range: 'this_month' }),
  annotation_id: context => create(context, '/v4/analytics/annotations', { at: 1_772_366_400, text: unique('annotation') }),
  channel_id: context =>
    create(context, '/v4/notification-channels', {
      title: unique('channel'),
      type: 'email',
      settings: { recipients: ['ada@example.org'] },
    }),
  chart_code: async () => 'mrr',
  card_code: async () => 'realtime',
}
