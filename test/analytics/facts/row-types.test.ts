// Facts are written as rows of types of the database, and compared as the database shows rows.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROW_TYPES } from '../../../domain/analytics/facts/tables.ts'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { startApi, type TestApi } from '../../harness/api.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
})
afterAll(() => api.stop())

test.each(Object.entries(ROW_TYPES))('%s has the columns of a fold, in their order', async (type, columns) => {
  const { rows } = await api.pool.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute where attrelid = $1::regclass order by attnum`,
    [type],
  )
  expect(rows.map(one => [one.name, one.type.replace('integer', 'int')])).toEqual(columns.map(([name, of]) => [name, of]))
})

/** What the database quotes in a row, and what it does not. */
const IDS = ['plain', 'two words', 'a,b', '(c)', 'say "d"', 'back\\slash', 'line\nbreak', '\ttab', 'NULL', '\\N', 'é😀', "it's", '{x}']

const seqOf = async () => (await api.pool.query('select seq from fact_state where environment = $1', [environment])).rows[0].seq as number

test('facts whose events have unusual names are stored as they are, and a fold that finds them alike writes nothing', async () => {
  const events = IDS.map((_, n) => ({
    ...{
      event_name: 'in_app_purchase',
      event_id: `sale-${n}`,
      identity_id: 'buyer',
      platform: 'iOS',
      happened_at: `2026-03-01T00:00:${10 + n}Z`,
    },
    ...{ price: String(n + 1), currency: 'EUR', transaction: { transaction_id: `t-${n}` }, product_id: n % 2 === 0 ? 'a,"b' : '(p\\' },
  }))
  const { status, text } = await api.call('POST', '/v4/events', { key: api.project.secret, body: { events } })
  expect(status, text).toBeLessThan(300)
  for (const [n, id] of IDS.entries())
    await api.pool.query('update events set id = $2 where environment = $1 and transaction_id = $3', [environment, id, `t-${n}`])
  await drainMarks(api.pool, environment, 10)
  const stored = await api.pool.query('select event from transaction_facts where environment = $1 order by happened', [environment])
  expect(stored.rows.map(({ event }) => event)).toEqual(IDS)
  const seq = await seqOf()
  await api.pool.query('insert into stale_users (environment, user_no) select environment, no from users where environment = $1', [
    environment,
  ])
  expect(await drainMarks(api.pool, environment, 10)).toBe(true)
  expect(await seqOf()).toBe(seq)
})
