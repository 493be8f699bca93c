// Valid requests for every operation of the description: its documented example, with ids of existing resources.
import { findKey } from '../../domain/projects/keys.ts'
import type { TestApi } from './api.ts'
import type { Answer, RequestOptions } from './client.ts'
import { readForAutomations } from './consume.ts'
import { addressOf, type Described, exampleOf, pathParameters } from './described.ts'
import { endedDelivery } from './job-rows.ts'
import {
  definition,
  destinationOf,
  finishedReportRun,
  type Given,
  type Make,
  type MakerContext,
  messenger,
  reportEnvironment,
  resourceMakers,
  storeProductOf,
  unique,
} from './resource-makers.ts'
import { finishReportRun } from './stored-report-run.ts'

export type Request = { path: Given; query: Record<string, unknown>; body?: unknown }

/** Fields and query parameters that name a resource, with its maker. A field that is a list names one resource per item. */
const REFERENCES: Record<string, Make> = {
  user_id: resourceMakers.user_id!,
  customer_uid: resourceMakers.user_id!,
  user_ids: resourceMakers.user_id!,
  entitlement_id: definition,
  permission_id: definition,
  product_ids: resourceMakers.product_id!,
  product_id: async (context, given) => storeProductOf(await resourceMakers.product_id!(context, given)),
  segment_id: resourceMakers.segment_id!,
  segments: resourceMakers.segment_id!,
  listed_in: resourceMakers.segment_id!,
  screen: resourceMakers.screen_id!,
  push: resourceMakers.push_id!,
  remote_config_uid: resourceMakers.config_id!,
  offering_uid: resourceMakers.offering_id!,
  group_id: resourceMakers.group_id!,
  integration_id: messenger,
  'filter[experiment_uid][]': resourceMakers.experiment_id!,
  'destinations.id': resourceMakers.integration_id!,
  destination_ids: destinationOf,
}
export const isReference = (name: string) => Object.hasOwn(REFERENCES, name)
/** Whether a body names a resource that must exist. */
export const namesSomething = (value: unknown, name = ''): boolean => {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).some(([key, inner]) => namesSomething(inner, Array.isArray(value) ? name : nameOf(key, value, name)))
  return typeof value === 'string' && isReference(name)
}
/** The name of a field in REFERENCES: with its parent where its own name is ambiguous. */
const nameOf = (key: string, value: object, parent: string) => {
  if (parent === 'destinations' && key === 'id') return 'destinations.id'
  return key === 'environment' && ('report_name' in value || 'scopes' in value) ? 'report.environment' : key
}

/** Fields whose value must be unique. */
const CHOSEN = new Set(['id', 'identity_id', 'alias_id', 'transaction_id', 'event_id'])

/** Apple Ads exists where an integration of it does. */
const withAppleAds = ({ callApi }: MakerContext) =>
  callApi('POST', '/v4/integrations', { title: 'Ads', integration: 'searchads', target_platform: 'iOS' })

/** Requests that must precede an operation, or it has nothing to do. */
const BEFORE: Record<string, (context: MakerContext, given: Given) => Promise<unknown>> = {
  v4GetAppleAdsReport: withAppleAds,
  v4GetAppleAdsSeries: withAppleAds,
  v4GetAppleAdsConnection: withAppleAds,
  v4ReplayIntegrationDeliveries: ({ callApi }, { integration_id }) =>
    callApi('POST', `/v4/integrations/${integration_id}/status`, { status: 1 }),
  v4ResendIntegrationDelivery: ({ callApi }, { integration_id }) =>
    callApi('POST', `/v4/integrations/${integration_id}/status`, { status: 1 }),
  v4DetachUserFromRemoteConfiguration: ({ callApi }, { config_id, user_id }) =>
    callApi('POST', `/v4/remote-configurations/${config_id}/users/${user_id}`),
  v4ReplayAutomationRun: ({ callApi }, { run_id }) => callApi('POST', `/v4/automation-runs/${run_id}/cancel`),
  v4DetachUserFromExperiment: async (context, given) =>
    context.callApi('POST', `/v4/experiments/${given.experiment_id}/users/${given.user_id}`, {
      group_id: await resourceMakers.group_id!(context, given),
    }),
}

/** Makers of path parameters that mean another resource in this operation. */
const MAKERS_OF: Record<string, Record<string, Make>> = { v4ResendScheduledReportRun: { run_id: finishedReportRun } }

/** Operations that exist only in the sandbox. */
export const SANDBOX_ONLY = ['v4GetTestClock', 'v4AdvanceTestClock', 'v4ResetTestClock', 'v4ListTestClockDue']

export type OperationRequests = {
  key: string
  context: MakerContext
  /** Path parameters with the ids of new resources. */
  path(operation: Described): Promise<Given>
  /** The documented example, with the ids of new resources. The request succeeds. */
  example(operation: Described): Promise<Request>
  /** Replaces every text that names a resource with the id of a new one, and, with `choose`, every id that the caller chooses with a new id. */
  fill(value: unknown, given: Given, choose: boolean): Promise<unknown>
  send(operation: Described, request: Request, headers?: Record<string, string>): Promise<Answer>
  /** Sends an address unchanged: `search` is the query, `segments` replace path parameters without encoding. */
  raw(operation: Described, address: RawAddress, options: RequestOptions): Promise<Answer>
}
export type RawAddress = { path: Given; search?: string; segments?: Record<string, string> }

export function operationRequests(api: Pick<TestApi, 'call' | 'pool'>, key: string): OperationRequests {
  const context: MakerContext = {
    environment: key.startsWith('test_') ? 'sandbox' : 'prod',
    async callApi(method, path, body) {
      const answer = await api.call(method, path, { key, body })
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
      return answer.body
    },
    async readLog() {
      await readForAutomations(api.pool, (await findKey(api.pool, key))!.environment)
    },
    finishReport: run => finishReportRun(api.pool, run),
    endDelivery: integration => endedDelivery(api.pool, integration),
  }

  async function path(operation: Described): Promise<Given> {
    const given: Given = {}
    for (const name of pathParameters(operation)) {
      const make = MAKERS_OF[operation.id]?.[name] ?? resourceMakers[name]
      if (!make) throw new Error(`${operation.id}: no maker for the path parameter ${name}`)
      given[name] = await make(context, given)
    }
    return given
  }

  async function fill(value: unknown, given: Given, choose: boolean, name = ''): Promise<unknown> {
    if (Array.isArray(value)) return Promise.all(value.map(item => fill(item, given, choose, name)))
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value).map(async ([key, inner]) => [key, await fill(inner, given, choose, nameOf(key, value, name))])
      return Object.fromEntries(await Promise.all(entries))
    }
    if (typeof value !== 'string') return value
    if (name === 'environment') return context.environment
    if (name === 'report.environment') return reportEnvironment(context)
    if (choose && CHOSEN.has(name)) return unique('chosen')
    return isReference(name) ? REFERENCES[name]!(context, given) : value
  }

  return {
    key,
    context,
    path,
    fill,
    async example(operation) {
      const given = await path(operation)
      await BEFORE[operation.id]?.(context, given)
      const wanted = operation.parameters.filter(parameter => parameter.in === 'query' && parameter.required)
      const query = (await fill(
        Object.fromEntries(wanted.map(parameter => [parameter.name, parameter.example])),
        given,
        true,
      )) as Request['query']
      return { path: given, query, ...(operation.body && { body: await fill(exampleOf(operation), given, true) }) }
    },
    send: (operation, request, headers = {}) =>
      api.call(operation.method, addressOf(operation, request), { key, body: request.body, headers }),
    raw(operation, { path, search, segments = {} }, options) {
      const address = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => segments[name] ?? encodeURIComponent(path[name]!))
      return api.call(operation.method, search === undefined ? address : `${address}?${search}`, { key, ...options })
    },
  }
}

/** Operations after which the project has another key. */
export const ENDS_KEY = ['v4RegenerateProjectSecret']

/**
 * Requests in a project in which the operation can be called: an operation that ends a key or configures stores gets its own project,
 * an operation of the sandbox gets a sandbox key.
 */
export async function requestsIn(api: TestApi, operation: Described): Promise<OperationRequests> {
  const ofItsOwn = ENDS_KEY.includes(operation.id) || operation.tag === 'Project Settings' || SANDBOX_ONLY.includes(operation.id)
  const project = ofItsOwn ? await api.newProject() : api.project
  return operationRequests(api, SANDBOX_ONLY.includes(operation.id) ? project.sandbox : project.secret)
}
