import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { tally, whileOthersWait } from '../harness/catalogue.ts'
import type { Answer } from '../harness/client.ts'

// There is exactly one main offering, with any concurrent writes.
let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const fifty = (act: (i: number) => Promise<Answer>) => Promise.all(Array.from({ length: 50 }, (_, i) => act(i)))

async function offerings() {
  const { secret: key } = await api.newProject()
  const send = (method: string, path = '', body?: unknown) =>
    api.call(method, `/v4/offerings${path}`, { key, ...(body !== undefined && { body }) })
  const all = async (): Promise<{ id: string; tag: number | null }[]> => (await send('GET', '?limit=100')).body.data
  return { send, all, main: async () => (await all()).filter(({ tag }) => tag === 1).map(({ id }) => id) }
}

test('of 50 concurrent first offerings one is the main one, and only its response says so', async () => {
  const { send, main } = await offerings()
  // Waits until all other connections are blocked on the table.
  const answers = await whileOthersWait(api, 'lock table offerings in exclusive mode', 4, () =>
    fifty(i => send('POST', '', { id: `o${i}` })),
  )
  expect(tally(answers)).toEqual({ 201: 50 })
  expect(answers.filter(({ body }) => body.tag === 1).map(({ body }) => body.id)).toEqual(await main())
})

test('of 50 creations of one id one is 201', async () => {
  const { send, all } = await offerings()
  const answers = await fifty(() => send('POST', '', { id: 'wanted' }))
  expect(tally(answers)).toEqual({ 201: 1, 409: 49 })
  expect(answers.find(({ status }) => status === 409)!.body.error.code).toBe('offering_already_exists')
  expect(await all()).toMatchObject([{ id: 'wanted', tag: 1 }])
})

test('50 set-main keep exactly one main offering at every instant', async () => {
  const { send, main } = await offerings()
  for (let i = 0; i < 5; i++) await send('POST', '', { id: `o${i}` })
  const seen: string[][] = []
  const answers = await fifty(async i => {
    const answer = await send('POST', `/o${i % 5}/set-main`)
    seen.push(await main())
    return answer
  })
  expect(tally(answers)).toEqual({ 200: 50 })
  expect(seen.map(ids => ids.length)).toEqual(Array.from({ length: 50 }, () => 1))
})

test('50 deletions, creations and set-main end with one main offering or no offering', async () => {
  for (let round = 0; round < 3; round++) {
    const { send, all, main } = await offerings()
    for (let i = 0; i < 3; i++) await send('POST', '', { id: `o${i}` })
    const answers = await fifty(i => {
      const id = `o${i % 3}`
      if (i % 5 === 0) return send('POST', '', { id })
      return i % 2 ? send('POST', `/${id}/set-main`) : send('DELETE', `/${id}`)
    })
    const { 200: _moved, 201: _made, 204: _gone, 404: _unknown, 409: _taken, 422: _main, ...others } = tally(answers)
    expect(others).toEqual({})
    expect(await main()).toHaveLength((await all()).length === 0 ? 0 : 1)
  }
})
