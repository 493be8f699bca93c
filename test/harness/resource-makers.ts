// How one of everything is made through the API, by the name of the path parameter that asks for its id.
import { randomBytes } from 'node:crypto'
import { type Receiver, receiver } from './receiver.ts'
import { until } from './until.ts'

/** Performs a request that must succeed; gives the body of the answer. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
export type Ask = (method: string, path: string, body?: unknown) => Promise<any>
export type Place = {
  ask: Ask
  environment: 'prod' | 'sandbox'
  /** Lets the automations see what has happened so far. */
  readLog(): Promise<void>
  /** Ends a run of a report as if its file had been made and delivered. */
  finishReport(run: string): Promise<void>
}
/** Path parameters that are there already. */
export type Given = Record<string, string>
export type Make = (place: Place, given: Given) => Promise<string>

/** An id that nobody else has. */
export const unique = (word: string) => `${word}-${randomBytes(9).toString('hex')}`

/** What every store calls a product. */
export const storeProductOf = (product: string) => `store.${product}`

const made = async ({ ask }: Place, path: string, body: object): Promise<string> => (await ask('POST', path, body)).id

const user: Make = (place, _given) => made(place, '/v4/users', { environment: place.environment })

const product: Make = (place, _given) => {
  const id = unique('product')
  const store = storeProductOf(id)
  const links = { apple_product_id: store, google_product_id: store, stripe_product_id: store, paddle_product_id: store }
  return made(place, '/v4/products', { id, type: 'subscription', duration: 'P1M', ...links })
}

/** A definition that nobody holds. */
export const definition = async (place: Place) =>
  made(place, '/v4/entitlements', { id: unique('right'), product_ids: [await product(place, {})] })

async function granted(place: Place, user_id: string | undefined): Promise<string> {
  const id = await definition(place)
  if (user_id) await place.ask('POST', `/v4/users/${user_id}/entitlements`, { entitlement_id: id })
  return id
}

const group = (place: Place, experiment: string, is_control: boolean) =>
  made(place, `/v4/experiments/${experiment}/groups`, { weight: 1, is_control })

async function experiment(place: Place): Promise<string> {
  const id = await made(place, '/v4/experiments', { name: unique('experiment'), alias_id: unique('alias') })
  await group(place, id, true)
  await group(place, id, false)
  return id
}

async function purchase(place: Place, user_id: string): Promise<string> {
  const app_store_data = { transaction_id: unique('transaction'), product_id: storeProductOf(await product(place, {})) }
  const body = { currency: 'USD', price: '9.99', purchased_at: '2026-03-01T09:00:00Z', app_store_data }
  return made(place, `/v4/users/${user_id}/purchases`, body)
}

/** Not the main one. */
async function offering(place: Place): Promise<string> {
  await made(place, '/v4/offerings', { id: unique('first') })
  return made(place, '/v4/offerings', { id: unique('offer'), product_ids: [await product(place, {})] })
}

/** A paused integration that pushes may name. */
export const messenger: Make = place =>
  made(place, '/v4/integrations', { title: unique('messenger'), integration: 'onesignal', target_platform: 'iOS' })

/** Its runs come to rest. */
async function automation(place: Place): Promise<string> {
  const initiators = [{ uid: unique('e'), type: 'event' }]
  const steps = [{ id: 'wait', type: 'delay', duration: 'P1Y' }]
  return made(place, '/v4/automations', { name: unique('automation'), status: 'active', data: { initiators, steps } })
}

/** A run that nobody has taken up. */
async function automationRun(place: Place): Promise<string> {
  const id = await automation(place)
  const { data } = await place.ask('GET', `/v4/automations/${id}`)
  const event = { event_id: unique('event'), event_name: data.initiators[0].uid, happened_at: '2026-03-01T09:00:00Z' }
  await place.ask('POST', '/v4/events', { events: [{ ...event, customer_uid: await user(place, {}) }] })
  // Another test may have the log in hand at this moment.
  return until('a run', async () => {
    await place.readLog()
    return (await place.ask('GET', `/v4/automations/${id}/runs`)).data[0]?.id
  })
}

const WINDOW = { from_timestamp: '2026-02-01T00:00:00Z', to_timestamp: '2026-03-01T00:00:00Z' }

let hook: Promise<Receiver> | undefined

/** A paused webhook whose receiver, one for all, takes everything. */
async function integration(place: Place): Promise<string> {
  hook ??= receiver({ isKept: false })
  const { url } = await hook
  const id = await made(place, '/v4/integrations', { title: unique('integration'), integration: 'webhooks', target_platform: 'iOS' })
  await place.ask('PUT', `/v4/integrations/${id}/config`, { settings: { url, sandbox_url: url } })
  return id
}

async function report(place: Place): Promise<string> {
  const destinations = [{ type: 'target_integration', id: await integration(place) }]
  const when = { send_at: '09:00', included_range_days: 1, status: 'active', environment: reportEnvironment(place) }
  return made(place, '/v4/scheduled-reports', { report_name: unique('report'), ...when, destinations })
}

/** Reports have words of their own for it. */
export const reportEnvironment = ({ environment }: Place) => (environment === 'prod' ? 'production' : 'sandbox')

/** Where the runs made here go, by run. */
const destinations = new Map<string, string>()
export const destinationOf: Make = async (_place, { run_id }) => destinations.get(run_id!) ?? 'int_nowhere'

export async function finishedReportRun(place: Place): Promise<string> {
  const id = await report(place)
  await place.ask('POST', `/v4/scheduled-reports/${id}/send-test`)
  const [run] = (await place.ask('GET', `/v4/scheduled-reports/${id}/runs`)).data
  destinations.set(run.id, run.destinations[0].id)
  await place.finishReport(run.id)
  return run.id
}

export const resourceMakers: Record<string, Make> = {
  user_id: user,
  customer_id: user,
  identity_id: place => made(place, '/v4/identities', { identity_id: unique('person') }),
  product_id: product,
  entitlement_id: (place, { user_id }) => granted(place, user_id),
  permission_id: (place, { customer_id }) => granted(place, customer_id),
  purchase_id: (place, { user_id }) => purchase(place, user_id!),
  offering_id: offering,
  screen_id: place => made(place, '/v4/screens', { name: unique('screen') }),
  export_id: place => made(place, '/v4/exports', WINDOW),
  segment_id: place => made(place, '/v4/segments', { name: unique('segment') }),
  config_id: place => made(place, '/v4/remote-configurations', { name: unique('config') }),
  experiment_id: experiment,
  group_id: (place, { experiment_id }) => group(place, experiment_id!, false),
  integration_id: integration,
  report_id: report,
  push_id: place => made(place, '/v4/pushes', { name: unique('push'), body: 'Hello' }),
  automation_id: automation,
  run_id: automationRun,
  platform: async () => 'apple',
}
