import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { markRateChanges } from '../../../domain/purchases/rates/changes.ts'
import { importRates } from '../../../domain/purchases/rates/import.ts'
import type { Rate } from '../../../domain/purchases/rates/rate.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { userOf } from '../../harness/purchases.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
})
afterAll(() => api.stop())

// Facts as a fold would leave them, and nothing else that could mark a user.
beforeEach(() =>
  api.pool.query(
    'truncate currency_rates, rate_changes, transaction_facts, fact_words, stale_users; delete from due; update fact_state set generation = 1',
  ),
)

/** A user whose facts are folded: without the mark of a new user. */
async function foldedUser(): Promise<string> {
  const user = await userOf(api)
  await api.pool.query('delete from stale_users where user_no = (select no from users where id = $1)', [user])
  return user
}

const DAY = 86_400
const dayOf = (date: string) => Date.parse(`${date}T00:00:00Z`) / 86_400_000

async function fact(
  date: string,
  currency: string,
  { generation = 1, seconds = 0, user }: { generation?: number; seconds?: number; user?: string } = {},
) {
  const owner = user ?? (await foldedUser())
  await api.pool.query(
    `with word as (
       insert into fact_words (environment, word, seq) values ($1, $2, 1) on conflict (environment, word) do update set seq = 1 returning no)
     insert into transaction_facts (environment, generation, seq, user_no, kind, happened, bought_on, currency, amount)
     select $1, $3, 1, (select no from users where id = $4), 5, $5, $6, no, 1000000 from word`,
    [environment, currency, generation, owner, dayOf(date) * DAY + seconds, dayOf(date)],
  )
  return owner
}

async function* lines(rates: Rate[]) {
  for (const [i, rate] of rates.entries()) yield { line: i + 1, rate }
}
const give = async (...given: [date: string, currency: string, usd: string][]) => {
  const rates = given.map(([date, currency, usd]) => ({ date, currency, usd, per: '1' }))
  expect(await importRates(api.pool, () => lines(rates))).toMatchObject({ is: 'imported' })
}
const marked = async () => {
  const { rows } = await api.pool.query('select u.id, s.sums from stale_users s join users u on u.no = s.user_no order by 1')
  for (const { id, sums } of rows) expect([id, sums]).toEqual([id, true])
  return rows.map(({ id }) => id as string)
}
const jobs = async (of = environment) =>
  (await api.pool.query<{ at: number }>(`select extract(epoch from due_at)::float8 as at from due where kind = 'rates' and id = $1`, [of]))
    .rows

/** Transactions of other tests on this server may be older than the import. */
const settled = () =>
  until('the end of all transactions that are older than the first step', async () => {
    const { rowCount } = await api.pool.query(
      'select from rate_changes where environment = $1 and settles_at <= pg_snapshot_xmin(pg_current_snapshot())',
      [environment],
    )
    return rowCount === 1 || undefined
  })

/** All steps; gives how many there were. */
async function markAll(): Promise<number> {
  for (let steps = 1; steps < 100; steps++) {
    await markRateChanges(api.pool, environment)
    if ((await jobs()).length === 0) return steps
    await settled()
  }
  throw new Error('the marks do not come to an end')
}

test('the first rate of a currency marks all of its users, and nobody else', async () => {
  const users = [await fact('2020-01-01', 'EUR'), await fact('2026-05-05', 'EUR', { seconds: DAY - 1 })]
  await fact('2026-01-01', 'USD')
  await fact('2026-01-01', 'JPY')
  await give(['2026-03-01', 'EUR', '1.1'])
  await markAll()
  expect(await marked()).toEqual(users.sort())
})

test('a user who is marked already gets the mark of the sums, too', async () => {
  const user = await userOf(api)
  await fact('2026-03-01', 'EUR', { user })
  const sums = 'select sums from stale_users'
  expect((await api.pool.query(sums)).rows).toEqual([{ sums: false }])
  await give(['2026-03-01', 'EUR', '1.1'])
  await markAll()
  expect((await api.pool.query(sums)).rows).toEqual([{ sums: true }])
})

test('a later rate marks the users of the days that it changes: until the next date with a rate', async () => {
  await give(['2026-03-01', 'EUR', '1.1'], ['2026-03-20', 'EUR', '1.2'])
  await markAll()
  await fact('2026-03-09', 'EUR', { seconds: DAY - 1 })
  const users = [await fact('2026-03-10', 'EUR'), await fact('2026-03-19', 'EUR', { seconds: DAY - 1 })]
  await fact('2026-03-20', 'EUR')
  await give(['2026-03-10', 'EUR', '1.15'])
  await markAll()
  expect(await marked()).toEqual(users.sort())
})

test('the earliest rate reaches back to the beginning, and the latest to the end', async () => {
  await give(['2026-03-01', 'EUR', '1.1'], ['2026-03-20', 'EUR', '1.2'])
  await markAll()
  const first = await fact('2010-01-01', 'EUR')
  await fact('2026-03-15', 'EUR')
  const last = await fact('2030-01-01', 'EUR')
  await give(['2026-02-01', 'EUR', '1.0'])
  await markAll()
  expect(await marked()).toEqual([first])
  await give(['2026-03-20', 'EUR', '1.3'])
  await markAll()
  expect(await marked()).toEqual([first, last].sort())
})

test('rates that are there already change nothing: no job, no mark', async () => {
  await give(['2026-03-01', 'EUR', '1.1'])
  await markAll()
  await fact('2026-03-01', 'EUR')
  await give(['2026-03-01', 'EUR', '1.10'])
  expect(await jobs()).toEqual([])
})

test('the facts are looked at in bounded steps; many of one second, too', async () => {
  const users = [await foldedUser(), await foldedUser()]
  await fact('2026-03-01', 'EUR', { user: users[0]! })
  await api.pool.query(
    `insert into transaction_facts (environment, generation, seq, user_no, kind, happened, bought_on, currency, amount)
     select environment, generation, seq, user_no, kind, happened + n / 3000, bought_on, currency, amount
     from transaction_facts, generate_series(1, 5000) n`,
  )
  await fact('2026-03-02', 'EUR', { user: users[1]! })
  await give(['2026-03-01', 'EUR', '1.1'])
  // One that begins to wait, then 2,000, 2,000 and 1,002 facts.
  expect(await markAll()).toBe(4)
  expect(await marked()).toEqual(users.sort())
})

test('an import during the steps begins them again with its rates', async () => {
  const early = await fact('2026-01-01', 'JPY')
  const user = await fact('2026-02-01', 'EUR')
  await api.pool.query(
    `insert into transaction_facts (environment, generation, seq, user_no, kind, happened, bought_on, currency, amount)
     select environment, generation, seq, user_no, kind, happened + n, bought_on, currency, amount
     from transaction_facts, generate_series(1, 2000) n where currency = (select no from fact_words where word = 'EUR')`,
  )
  await give(['2026-02-01', 'EUR', '1.1'])
  await markRateChanges(api.pool, environment)
  await settled()
  await markRateChanges(api.pool, environment)
  expect(await marked()).toEqual([user])
  await give(['2026-01-01', 'JPY', '0.01'])
  await markAll()
  expect(await marked()).toEqual([early, user].sort())
})

test('the generation that readers see is looked at', async () => {
  await api.pool.query('update fact_state set generation = 2 where environment = $1', [environment])
  await fact('2026-03-01', 'EUR')
  const user = await fact('2026-03-01', 'EUR', { generation: 2 })
  await give(['2026-03-01', 'EUR', '1.1'])
  await markAll()
  expect(await marked()).toEqual([user])
})

test('what was folded with the former rates and is not committed yet is waited for', async () => {
  const folding = await api.pool.connect()
  await folding.query('begin')
  const user = await foldedUser()
  await folding.query('select 1 from users where id = $1 for no key update', [user])
  await folding.query('select pg_current_xact_id()')
  await give(['2026-03-01', 'EUR', '1.1'])
  const [before] = await jobs()
  for (let i = 0; i < 3; i++) await markRateChanges(api.pool, environment)
  const [waiting] = await jobs()
  expect(waiting!.at).toBeGreaterThan(before!.at + 1)
  expect(await marked()).toEqual([])
  const word = `insert into fact_words (environment, word, seq) values ($1, 'EUR', 1) returning no`
  await folding.query(
    `with word as (${word}) insert into transaction_facts (environment, generation, seq, user_no, kind, happened, bought_on, currency, amount)
     select $1, 1, 1, (select no from users where id = $2), 5, $3::bigint * 86400, $3, no, 1 from word`,
    [environment, user, dayOf('2026-03-01')],
  )
  await folding.query('commit')
  folding.release()
  await markAll()
  expect(await marked()).toEqual([user])
})

test('a database restored on another server waits for transactions of that one', async () => {
  const user = await fact('2026-03-01', 'EUR')
  await give(['2026-03-01', 'EUR', '1.1'])
  await api.pool.query(`update rate_changes set settles_at = '4611686018427387904'`)
  await markAll()
  expect(await marked()).toEqual([user])
})

test('a user that was erased meanwhile is passed over', async () => {
  const gone = await fact('2026-03-01', 'EUR')
  const user = await fact('2026-03-01', 'EUR')
  await api.pool.query('delete from users where id = $1', [gone])
  await give(['2026-03-01', 'EUR', '1.1'])
  await markAll()
  expect(await marked()).toEqual([user])
})

test('each environment has a job of its own', async () => {
  await give(['2026-03-01', 'EUR', '1.1'])
  expect([...(await jobs()), ...(await jobs(api.project.sandboxEnvironment))]).toHaveLength(2)
})
