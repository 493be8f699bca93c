// What happens to a grant while a request of it waits for its turn.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { problemOf } from '../../api/errors.ts'
import type { Route } from '../../api/operation.ts'
import { routes } from '../../api/routes.ts'
import type { ExecutionDeps } from '../../api/run.ts'
import { run } from '../../api/run.ts'
import { endGrant, findGrant } from '../../domain/operators/grants/grant.ts'
import { hashKey } from '../../domain/projects/secrets.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant, type TestGrant } from '../harness/grants.ts'

let api: TestApi
let grant: TestGrant
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  grant = await newGrant(api, api.project)
})
afterAll(() => api.stop())

const routeOf = (id: string): Route => routes.find(({ description }) => description.id === id)!
let count = 0

/** The status and code of a call, before whose turn something happens. */
async function after(meanwhile: () => Promise<unknown>, dryRun = false) {
  const { owner } = (await findGrant(api.pool, hashKey(grant.token)))!
  const turns = async <T>(_: number, __: boolean, work: () => Promise<T>): Promise<T> => {
    await meanwhile()
    return work()
  }
  const deps = { pool: api.pool, secrets: api.secrets, turns } as unknown as ExecutionDeps
  const id = `waited-${++count}`
  const input = { parameters: {}, query: {}, body: { id, description: 'Waited' }, faults: [], repeat: undefined, dryRun }
  const outcome = await run(routeOf('v4CreateEntitlement'), { requestId: 'request', owner }, input, { deps, check: () => {} }).then(
    ({ status }) => [status],
    error => [problemOf(error).status, problemOf(error).body.error.code],
  )
  const isMade = (await api.call('GET', `/v4/entitlements/${id}`)).status === 200
  return { outcome, isMade }
}

test('nothing, and the request is performed', async () => {
  expect(await after(async () => {})).toEqual({ outcome: [201], isMade: true })
})

test('its end, the end of the account and a smaller role refuse a write', async () => {
  const setRole = (role: string) => api.pool.query('update operator_roles set role = $2 where operator = $1', [grant.operator, role])
  const ends = [
    () => endGrant(api.pool, grant.id),
    () => api.pool.query('update operators set closed_at = clock_timestamp() where id = $1', [grant.operator]),
    () => setRole('viewer'),
    () => api.pool.query('delete from operator_roles where operator = $1', [grant.operator]),
  ]
  for (const end of ends)
    for (const dryRun of [false, true]) {
      grant = await newGrant(api, api.project)
      expect(await after(end, dryRun)).toEqual({ outcome: [403, 'control_forbidden'], isMade: false })
    }
  grant = await newGrant(api, api.project)
  expect((await after(() => setRole('editor'))).isMade).toBe(true)
})
