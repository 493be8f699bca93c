import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOCK } from '../../store/advisory-locks.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { tally } from '../harness/catalogue.ts'
import { growth } from '../harness/experiments.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
})
afterAll(() => api.stop())

const evaluate = (user: string, key: string) => make.call('POST', `/v4/users/${user}/remote-configurations`, { context_keys: [key] })

test('fifty concurrent writers of the user do not prevent the assignment by an evaluation', async () => {
  const { id } = await make.running({ context_key: 'busy', is_context_specific: true })
  for (let round = 0; round < 3; round++) {
    const user = await make.user()
    const [evaluated, written] = await Promise.all([
      Promise.all(Array.from({ length: 10 }, () => evaluate(user, 'busy'))),
      Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          make.call('POST', `/v4/users/${user}/properties`, { properties: [{ key: 'key', value: String(i) }] }),
        ),
      ),
    ])
    expect([tally(evaluated), tally(written)]).toEqual([{ 200: 10 }, { 200: 50 }])
    const { rowCount } = await api.pool.query('select 1 from experiment_assignments where experiment_id = $1 and user_id = $2', [id, user])
    expect(rowCount).toBe(1)
  }
})

test('concurrent evaluations of one user for thirty context keys enter the experiment of each key', async () => {
  const keys = Array.from({ length: 30 }, (_, i) => `key-${i}`)
  for (const context_key of keys) await make.running({ context_key, is_context_specific: true })
  const user = await make.user()
  expect(tally(await Promise.all(keys.map(key => evaluate(user, key))))).toEqual({ 200: 30 })
  const { rowCount } = await api.pool.query('select 1 from experiment_assignments where user_id = $1', [user])
  expect(rowCount).toBe(30)
  const { rows } = await api.pool.query(
    `select count(*) as held from pg_locks l join pg_database d on d.oid = l.database
     where l.locktype = 'advisory' and l.classid = $1 and d.datname = current_database()`,
    [LOCK.evaluation],
  )
  expect(rows[0].held).toBe(0)
})
