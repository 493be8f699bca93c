import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Row = { created_at: string; id: string }

test.each([
  'segments',
  'remote-configurations',
  'experiments',
  'screens',
  'audit-log',
])('/v4/%s: rows of the same second are ordered by id', async list => {
  if (list !== 'audit-log') {
    const make = (n: number) =>
      api.call('POST', `/v4/${list}`, { body: { name: `n${n}`, ...(list === 'experiments' && { alias_id: `n${n}` }) } })
    const made = await Promise.all(Array.from({ length: 30 }, (_, n) => make(n)))
    expect(made.filter(({ status }) => status !== 201).map(({ status, body }) => [status, body])).toEqual([])
  }
  const { body } = await api.call('GET', `/v4/${list}?limit=100`)
  const shown = body.data.map(({ created_at, id }: Row) => `${created_at} ${id}`)
  expect(shown.length).toBeGreaterThanOrEqual(30)
  expect(shown).toEqual([...shown].sort().reverse())
})
