// The fixture of the automation tests: a new project, resources and events in it, and reads of the log when a test asks for them.
import type { TestApi } from '../harness/api.ts'
import { readForAutomations } from '../harness/consume.ts'
import { unique } from '../harness/resource-makers.ts'

/** A delay that lasts longer than any test. */
export const LONG = [{ id: 'long', type: 'delay', duration: 'P30D' }]
export const on = (...names: string[]) => names.map(uid => ({ uid, type: 'event' }))

export async function automationProject(api: TestApi) {
  const project = await api.newProject()
  const environment = project.sandboxEnvironment
  const call: TestApi['call'] = (method, path, options) => api.call(method, path, { key: project.sandbox, ...options })

  async function create(path: string, body: object) {
    const answer = await call('POST', path, { body })
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  // The events are of a time that is history by now.
  const post = async (items: object[], trigger: boolean | 'always' = 'always') => {
    const common = () => ({ event_id: unique('event'), happened_at: '2026-03-01T12:00:00Z' })
    const answer = await call('POST', '/v4/events', { body: { events: items.map(item => ({ ...common(), ...item })), trigger } })
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.body
  }
  return {
    project,
    environment,
    call,
    create,
    user: async (): Promise<string> => (await create('/v4/users', { environment: 'sandbox' })).id,
    screen: async (): Promise<string> => (await create('/v4/screens', { name: 'Offer' })).id,
    /** By default an active automation on `go` whose runs wait. */
    automation: (data: object = {}, status = 'active') =>
      create('/v4/automations', { name: 'A', status, data: { initiators: on('go'), steps: LONG, ...data } }),
    post,
    /** Reads the log for the automations, up to its end. */
    read: () => readForAutomations(api.pool, environment),
    // biome-ignore lint/suspicious/noExplicitAny: as the API shows them
    runs: async (automation: string, query = ''): Promise<any[]> =>
      (await call('GET', `/v4/automations/${automation}/runs?limit=100${query}`)).body.data,
    setStatus: (automation: string, status: string) => call('PATCH', `/v4/automations/${automation}/status`, { body: { status } }),
    advance: (seconds: number) =>
      api.pool.query('update environments set clock_offset = clock_offset + make_interval(secs => $2) where id = $1', [
        environment,
        seconds,
      ]),
  }
}
export type AutomationProject = Awaited<ReturnType<typeof automationProject>>
