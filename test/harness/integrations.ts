// Webhooks in the sandbox, where the test clock moves time.
import { expect } from 'vitest'
import type { TestApi } from './api.ts'
import type { Client } from './client.ts'
import { item } from './events.ts'
import { type Receiver, receiver } from './receiver.ts'
import { until } from './until.ts'

export type Hook = {
  id: string
  secret: string
  receiver: Receiver
  status(status: 0 | 1): Promise<void>
  // biome-ignore lint/suspicious/noExplicitAny: the server validates its responses
  show(): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: the server validates its responses
  deliveries(query?: string): Promise<any[]>
  /** The receiver answers this status, 500 by default, to whatever is about such a user, for ever, and takes the rest. */
  refuse(isRefused: (identity: string) => boolean, status?: number): void
  /** Waits until the deliveries, oldest first, have these statuses. */
  become(...statuses: string[]): Promise<void>
}

/** Calls with the sandbox key of the first project. */
export const sandbox =
  (api: TestApi): Client =>
  (method, path, options) =>
    api.call(method, path, { key: api.project.sandbox, ...options })

export async function must(call: Client, method: string, path: string, body?: unknown) {
  const answer = await call(method, path, { body })
  expect([answer.status, answer.text], `${method} ${path}`).toEqual([expect.toSatisfy(status => status < 300), answer.text])
  return answer.body
}

export type HookOptions = { config?: Record<string, unknown>; settings?: Record<string, unknown>; platform?: string; call: Client }

/** An active webhook with its own receiver, which accepts everything. */
export async function hook({ config = {}, settings = {}, platform = 'iOS', call }: HookOptions): Promise<Hook> {
  const received = await receiver()
  const { id } = await must(call, 'POST', '/v4/integrations', { title: 'Hook', integration: 'webhooks', target_platform: platform })
  const path = `/v4/integrations/${id}`
  const { generated_signing_secret: secret } = await must(call, 'PUT', `${path}/config`, {
    settings: { url: received.url, sandbox_url: received.url, ...settings },
    ...config,
  })
  const deliveries = async (query = '') => (await must(call, 'GET', `${path}/deliveries?limit=100${query}`)).data.reverse()
  const created: Hook = {
    id,
    secret,
    receiver: received,
    deliveries,
    status: async status => {
      await must(call, 'POST', `${path}/status`, { status })
    },
    show: async () => (await must(call, 'GET', '/v4/integrations')).data.find((one: { id: string }) => one.id === id),
    refuse: (isRefused, status = 500) => {
      received.otherwise = {
        act(response) {
          const { identity_id } = received.received.at(-1)!.body
          response.writeHead(isRefused(String(identity_id)) ? status : 200).end()
        },
      }
    },
    become: async (...statuses) => {
      let last: string[] = []
      const same = async () => {
        last = (await deliveries()).map((one: { status: string }) => one.status)
        return JSON.stringify(last) === JSON.stringify(statuses) || undefined
      }
      await until(`deliveries with the statuses ${statuses}`, same).catch(error => {
        throw new Error(`${error.message}; the statuses are ${last}`)
      })
    },
  }
  await created.status(1)
  return created
}

/** Posts events, by default of one user, in their order. Returns their ids in the log. */
export async function post(call: Client, ...events: Record<string, unknown>[]): Promise<string[]> {
  const items = events.map(fields => item({ identity_id: 'ada', ...fields }))
  const { results } = await must(call, 'POST', '/v4/events', { events: items })
  return results.map((result: { id: string }) => result.id)
}

export const advance = (call: Client, by: string) => must(call, 'POST', '/v4/test-clock/advance', { by })
