import { expect } from 'vitest'
import type { TestApi } from './api.ts'
import type { Answer } from './client.ts'

export type Fields = Record<string, unknown>

/** Creates experiments, remote configurations and what they need through the API. Each function returns the created object. */
export function growth(api: TestApi, key?: string) {
  const call = (method: string, path: string, body?: unknown): Promise<Answer> => api.call(method, path, { body, ...(key && { key }) })
  const made = async (method: string, path: string, body: unknown) => {
    const answer = await call(method, path, body)
    expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(300)
    return answer.body
  }
  let n = 0
  const group = (experiment: string, fields: Fields = {}) => made('POST', `/v4/experiments/${experiment}/groups`, { weight: 1, ...fields })
  const status = (experiment: string, to: string) => call('POST', `/v4/experiments/${experiment}/status`, { status: to })
  const experiment = (fields: Fields = {}) => {
    n += 1
    return made('POST', '/v4/experiments', { name: `Experiment ${n}`, alias_id: `alias-${n}`, ...fields })
  }
  return {
    call,
    group,
    status,
    experiment,
    user: async (): Promise<string> => (await made('POST', '/v4/users', { environment: key?.startsWith('test_') ? 'sandbox' : 'prod' })).id,
    /** An experiment in this state with these groups; the first group is the control. */
    async running(fields: Fields = {}, groups: Fields[] = [{}, {}], to = 'active') {
      const { id } = await experiment(fields)
      const ids: string[] = []
      for (const [i, more] of groups.entries()) ids.push((await group(id, { is_control: i === 0, ...more })).id)
      if (to !== 'draft') expect((await status(id, to)).body.status).toBe(to)
      return { id: id as string, groups: ids }
    },
    /** A remote configuration with this payload, active by default. */
    async configuration(payload: object, fields: Fields = {}, to = 'active'): Promise<string> {
      const { id } = await made('POST', '/v4/remote-configurations', { name: 'Configuration', ...fields })
      await made('PUT', `/v4/remote-configurations/${id}/payload`, { data: payload })
      if (to !== 'draft') await made('PATCH', `/v4/remote-configurations/${id}/status`, { status: to })
      return id
    },
    evaluate: async (user: string, body?: Fields) => {
      const answer = await call('POST', `/v4/users/${user}/remote-configurations`, body)
      expect(answer.status, answer.text).toBe(200)
      return answer.body.data
    },
  }
}
