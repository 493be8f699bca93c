import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { must } from '../harness/integrations.ts'
import { userOf } from '../harness/purchases.ts'

// The properties of a user as files show them: computed when they are written, and not at each start of the app.

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const sortedOf = async (user: string): Promise<string> =>
  (await api.pool.query<{ sorted: string }>('select properties_sorted as sorted from users where id = $1', [user])).rows[0]!.sorted

test('they follow each write of the properties', async () => {
  const user = await userOf(api)
  expect(await sortedOf(user)).toBe('{}')
  const write = (key: string, value: string) => must(api.call, 'POST', `/v4/users/${user}/properties`, { properties: [{ key, value }] })
  await write('longer', '1')
  await write('b', '2')
  expect(await sortedOf(user)).toBe('{"b":"2","longer":"1"}')
  await write('longer', '3')
  expect(await sortedOf(user)).toBe('{"b":"2","longer":"3"}')
})

test('another write of the user does not compute them', async () => {
  const user = await userOf(api)
  const db = await api.pool.connect()
  try {
    await db.query('begin')
    await db.query(
      `create or replace function sorted_properties(properties jsonb) returns text language plpgsql as $$ begin return 'computed'; end $$`,
    )
    const written = async (change: string) =>
      (await db.query<{ sorted: string }>(`update users set ${change} where id = $1 returning properties_sorted as sorted`, [user])).rows
    expect(await written(`country = 'NZ'`)).toEqual([{ sorted: '{}' }])
    expect(await written(`properties = '{"a": "1"}'`)).toEqual([{ sorted: 'computed' }])
  } finally {
    await db.query('rollback')
    db.release()
  }
})
