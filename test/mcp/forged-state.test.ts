// What a client returns of a question to the operator is signed: it confirms nothing that was not asked.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { newGrant, type TestGrant } from '../harness/grants.ts'
import { connected } from '../harness/mcp.ts'

let api: TestApi
let grant: TestGrant
beforeAll(async () => {
  api = await startApi()
  grant = await newGrant(api, api.project)
})
afterAll(() => api.stop())

let made = 0
async function entitlement(): Promise<string> {
  const id = `forged${++made}`
  await api.call('POST', '/v4/entitlements', { body: { id, description: id } })
  return id
}
const exists = async (id: string) => (await api.call('GET', `/v4/entitlements/${id}`)).status === 200

const STATE = /"requestState":"([^"]+)"/

/** Deletes with a client that shows forms to an operator who accepts everything; `altered`: what becomes of the state that it returns. */
async function deletedWith(token: string, id: string, altered: (state: string) => string): Promise<{ states: string[]; failed: boolean }> {
  const states: string[] = []
  const client = await connected(api.url, token, {
    capabilities: { elicitation: { form: {} } },
    altered: body =>
      body.replace(STATE, (_, state: string) => {
        states.push(state)
        return `"requestState":"${altered(state)}"`
      }),
  })
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirm_id: id, reason: 'not sold' } }) as never)
  const answer = await client.callTool({ name: 'delete_entitlement', arguments: { entitlement_id: id } }).catch(() => ({ isError: true }))
  return { states, failed: answer.isError === true }
}

test('as it was given it confirms', async () => {
  const id = await entitlement()
  expect(await deletedWith(grant.token, id, state => state)).toMatchObject({ states: [expect.any(String)], failed: false })
  expect(await exists(id)).toBe(false)
})

test('with one character changed, cut, or without its signature it confirms nothing', async () => {
  const flipped = (state: string, at: number) => state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1)
  const forgeries: ((state: string) => string)[] = [
    state => flipped(state, 10),
    state => flipped(state, Math.floor(state.length / 2)),
    state => flipped(state, state.length - 5),
    state => state.slice(0, -10),
    state => state.split('.').slice(0, -1).join('.'),
    () => 'guessed',
  ]
  for (const forge of forgeries) {
    const id = await entitlement()
    expect(await deletedWith(grant.token, id, forge)).toMatchObject({ states: [expect.any(String)], failed: true })
    expect(await exists(id)).toBe(true)
  }
})

test('of another question, or of another grant of the same operator, it confirms nothing', async () => {
  const [asked, other] = [await entitlement(), await entitlement()]
  const { states } = await deletedWith(grant.token, asked, () => 'guessed')
  expect(await deletedWith(grant.token, other, () => states[0]!)).toMatchObject({ failed: true })
  const second = await newGrant(api, api.project, { operator: grant.operator })
  expect(await deletedWith(second.token, asked, () => states[0]!)).toMatchObject({ failed: true })
  expect([await exists(asked), await exists(other)]).toEqual([true, true])
})
