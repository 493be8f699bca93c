import { scanAlerts } from '../../../domain/oversight/alerts/scan.ts'
import { startApi } from '../../harness/api.ts'
import type { Client } from '../../harness/client.ts'
import { must } from '../../harness/integrations.ts'
import { mailHost } from '../../harness/mail.ts'
import type { Receiver } from '../../harness/receiver.ts'
import { until } from '../../harness/until.ts'

type Alert = Record<string, unknown> & { id: string; kind: string; holder: { id: string }; messages: Record<string, unknown>[] }
export const CHANNELS = '/v4/notification-channels'

export const alertsOf = async (call: Client, query = ''): Promise<Alert[]> => (await must(call, 'GET', `/v4/alerts?limit=100${query}`)).data
export const webhookTo = (call: Client, to: Receiver, more: object = {}) =>
  must(call, 'POST', CHANNELS, { title: 'Hook', type: 'webhook', settings: { url: to.url }, ...more })
/** Waits until no message of the project is pending. */
export const settled = (call: Client) =>
  until('no pending message', async () =>
    (await alertsOf(call)).every(({ messages }) => messages.every(({ status }) => status !== 'pending')) ? true : undefined,
  )
// biome-ignore lint/suspicious/noExplicitAny: bodies of webhooks
const bodies = (from: Receiver): any[] => from.events().map(({ body }) => body)
export const reportsIn = (from: Receiver) => bodies(from).map(({ type, alert }) => `${type} ${alert.kind} ${alert.holder.id}`)

export type AlertsFixture = Awaited<ReturnType<typeof startAlerts>>

/** The service with a mail server that refuses one address for a while. */
export async function startAlerts() {
  let refusedAddress: string | undefined
  const mail = await mailHost({ refuse: () => ({ to: address => (address === refusedAddress ? 451 : undefined) }) })
  const server = { host: '127.0.0.1', port: mail.port, secure: false, requireTls: false, login: null }
  const api = await startApi({
    worker: true,
    mail: { server, from: 'Perennial <alerts@example.org>' },
    policies: { step: { waits: [], attemptLimitMs: 10_000 }, delivery: { waits: [0.01, 0.01], attemptLimitMs: 10_000 } },
  })
  return {
    api,
    mail,
    refuse: (address: string | undefined) => {
      refusedAddress = address
    },
    /** Calls with the production key of a project of its own, or with its sandbox key. */
    async newProject() {
      const keys = await api.newProject()
      const as =
        (key: string): Client =>
        (method, path, options) =>
          api.call(method, path, { key, ...options })
      return { keys, call: as(keys.secret), sandbox: as(keys.sandbox) }
    },
    scan: () => scanAlerts(api.pool),
    inError: (environment: number, id: string) =>
      api.pool.query(
        `update integrations set active = 2, held_since = environment_now($1), last_error_message = 'http_500' where environment = $1 and id = $2`,
        [environment, id],
      ),
    repaired: (environment: number, id: string) =>
      api.pool.query('update integrations set active = 1, held_since = null where environment = $1 and id = $2', [environment, id]),
    async stop() {
      await api.stop()
      await mail.close()
    },
  }
}
