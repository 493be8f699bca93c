// An id in a body that names nothing: 404, and the message begins with the field.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { on } from '../automations/fixture.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'
import { userOf } from '../harness/purchases.ts'
import { reportTo } from '../harness/reports.ts'

let api: TestApi
let user: string
let experiment: string
beforeAll(async () => {
  api = await startApi()
  user = await userOf(api, api.project.sandbox)
  experiment = (await growth(api, api.project.sandbox).running({}, [{}, {}], 'draft')).id
})
afterAll(() => api.stop())

const window = { from_timestamp: '2026-02-01T00:00:00Z', to_timestamp: '2026-03-01T00:00:00Z' }
const automation = (data: object) => ({ name: 'A', status: 'inactive', data: { initiators: on('go'), ...data } })

test.each<[field: string, path: () => string, body: object]>([
  ['user_id', () => '/v4/identities', { identity_id: 'ada', user_id: 'none' }],
  ['entitlement_id', () => `/v4/users/${user}/entitlements`, { entitlement_id: 'none' }],
  ['permission_id', () => `/v4/customers/${user}/permissions`, { permission_id: 'none' }],
  ['segment_id', () => '/v4/exports', { ...window, segment_id: 'none' }],
  ['integration_id', () => '/v4/pushes', { name: 'P', body: 'x', integration_id: 'none' }],
  ['remote_config_uid', () => `/v4/experiments/${experiment}/groups`, { weight: 1, remote_config_uid: 'none' }],
  ['offering_uid', () => `/v4/experiments/${experiment}/groups`, { weight: 1, offering_uid: 'none' }],
  ['destinations[0].id', () => '/v4/scheduled-reports', reportTo(['none'])],
  ['data.actions.push', () => '/v4/automations', automation({ actions: { push: 'none' } })],
  ['data.segments', () => '/v4/automations', automation({ steps: [{ id: 'x', type: 'exit' }], segments: 'none' })],
  [
    'data.steps[0].then[0].entitlement_id',
    () => '/v4/automations',
    automation({
      steps: [
        {
          id: 'b',
          type: 'branch',
          conditions: [],
          then: [{ id: 'g', type: 'grant_entitlement', entitlement_id: 'none', duration: null }],
        },
      ],
    }),
  ],
])('%s', async (field, path, body) => {
  const answer = await api.call('POST', path(), { key: api.project.sandbox, body })
  expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
  expect(answer.body.error.message.startsWith(field), answer.body.error.message).toBe(true)
})
