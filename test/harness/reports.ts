import type { TestApi } from './api.ts'
import type { Answer } from './client.ts'
import { storedIntegration } from './stored-integration.ts'
import { until } from './until.ts'

/** Stores a webhook destination, by default in the sandbox. Without `url` every attempt fails. */
export const webhookTo = (api: TestApi, url: string | undefined, environment = api.project.sandboxEnvironment) =>
  storedIntegration(api.pool, environment, { slug: 'webhooks', settings: url === undefined ? {} : { url, sandbox_url: url } })

/** The body of an active daily report of the sandbox. */
export const reportTo = (ids: string[], fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  report_name: 'Daily events',
  send_at: '09:00',
  included_range_days: 1,
  status: 'active',
  environment: 'sandbox',
  destinations: ids.map(id => ({ type: 'target_integration', id })),
  ...fields,
})

// biome-ignore lint/suspicious/noExplicitAny: as the API shows it
export type Shown = any

/** Calls with the sandbox key, and the requests that tests of reports make most. */
export function sandbox(api: TestApi, key = api.project.sandbox) {
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    api.call(method, path, { key, body, headers })
  const good = async (method: string, path: string, body?: unknown): Promise<Shown> => {
    const answer = await call(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  const runsOf = async (report: string, query = 'limit=100'): Promise<Shown[]> =>
    (await good('GET', `/v4/scheduled-reports/${report}/runs?${query}`)).data
  return {
    call,
    good,
    runsOf,
    create: (ids: string[], fields?: Record<string, unknown>): Promise<Shown> =>
      good('POST', '/v4/scheduled-reports', reportTo(ids, fields)),
    advance: (body: object) => good('POST', '/v4/test-clock/advance', body),
    now: async (): Promise<string> => (await good('GET', '/v4/test-clock')).now,
    /** Waits until the report's latest run is as wanted, and returns it. */
    runOf: (report: string, wanted: (run: Shown) => boolean): Promise<Shown> =>
      until(`a run of ${report}`, async () => {
        const [run] = await runsOf(report)
        return run && wanted(run) ? run : undefined
      }),
  }
}

export const finishedRun = (run: Shown) => run.status === 'finished'
