// Every operation of v3 twice, and with the keys of others.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { projectRowsOf, rowsOf } from '../harness/rows.ts'
import { v3Error } from '../harness/v3.ts'
import { shopOf, type V3Request } from './shop.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

/** All rows of a project, but when users were seen and changed. */
async function rows({ id, production, sandboxEnvironment }: { id: number; production: number; sandboxEnvironment: number }) {
  const environments = [production, sandboxEnvironment]
  for (const environment of environments) expect(await drainMarks(api.pool, environment, 10_000)).toBe(true)
  await transaction(api.pool, async tx => {
    // Without the trigger that keeps the time of a change.
    await tx.query('set local session_replication_role = replica')
    await tx.query('update users set last_seen_at = created_at, changed_at = created_at where environment = any ($1)', [environments])
  })
  return [await projectRowsOf(api.pool, id), await rowsOf(api.pool, production), await rowsOf(api.pool, sandboxEnvironment)]
}

/** What the second of two equal requests is answered, where it is not the same. */
const TAKEN: Record<string, string> = { v3CreateUser: 'already_exists', v3CreateIdentity: 'already_exists' }

test('every operation is called, and a second time changes nothing', async () => {
  const document = JSON.parse(readFileSync(new URL('../../schemas/generated/v3/openapi.json', import.meta.url), 'utf8'))
  const described = Object.values(document.paths as Record<string, Record<string, { operationId?: string }>>).flatMap(item =>
    Object.values(item).flatMap(({ operationId }) => operationId ?? []),
  )
  const { keys, requests, send } = await shopOf(api)
  expect(requests.map(({ id }) => id).sort()).toEqual(described.sort())
  let before = await rows(keys)
  for (const request of requests) {
    const first = await send(request)
    expect([request.id, first.status < 300]).toEqual([request.id, true])
    const after = await rows(keys)
    const isRead = request.method === 'GET' && request.id !== 'v3GetRemoteConfig'
    const isStored = !isRead && request.id !== 'v3CreateOfferSignature'
    if (isStored) expect(after, request.id).not.toEqual(before)
    else expect(after, request.id).toEqual(before)
    const second = await send(request)
    if (TAKEN[request.id]) expect([request.id, second.status, second.body.error.code]).toEqual([request.id, 422, TAKEN[request.id]])
    else expect([request.id, second.status]).toEqual([request.id, first.status])
    before = await rows(keys)
    expect(before, request.id).toEqual(after)
  }
})

test('the keys of another project reach nothing: with the ids of a user, or of what the user is attached to', async () => {
  const [home, guest] = [await shopOf(api), await shopOf(api)]
  for (const request of home.requests) if (!/Revoke|Detach/.test(request.id)) await home.send(request)
  const before = await rows(home.keys)
  const own = (request: V3Request, id: string) => ({ ...request, path: request.path.replaceAll(home.user, id) })
  const keysOf = (request: V3Request) =>
    request.isSecret ? [guest.keys.sandbox, guest.keys.secret] : [`test_${guest.keys.projectKey}`, guest.keys.projectKey]
  const missing = v3Error(api, 'resource', 'not_found', 'User not found')
  for (const request of home.requests) {
    for (const key of keysOf(request)) {
      const answer = await guest.send(request, key)
      if (request.path.includes(home.user) && !/Identity/.test(request.id))
        expect([request.id, answer.status, answer.body]).toEqual([request.id, 404, missing])
      else expect(answer.text, request.id).not.toContain(home.user)
    }
    // A user of the guest's, with the configuration, experiment or screen of the home.
    if (/Attach|Detach|GetScreen/.test(request.id))
      expect([request.id, (await guest.send(own(request, guest.user))).status]).toEqual([request.id, 404])
  }
  expect(await rows(home.keys)).toEqual(before)
})
