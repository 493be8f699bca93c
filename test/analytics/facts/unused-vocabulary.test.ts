import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { dropOldGenerations, dropTombstones } from '../../../domain/analytics/facts/retention.ts'
import { removeUnusedVocabulary } from '../../../domain/analytics/facts/unused-vocabulary.ts'
import { drainMarks } from '../../../domain/analytics/folding/drain.ts'
import { rebuildFacts } from '../../../domain/analytics/folding/rebuild.ts'
import { eraseCustomer } from '../../../domain/oversight/erasure/erase-customer.ts'
import { secretsFrom } from '../../../domain/projects/secrets.ts'
import { connect } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { APP_SECRET, startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { rowsRead } from '../../harness/rows-read.ts'
import { until } from '../../harness/until.ts'

let api: TestApi
let project: TestProjectKeys
let environment: number
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  await api.pool.query('truncate user_facts, transaction_facts, subscription_changes, fact_words')
  project = await api.newProject()
  environment = project.production
})

/** Posts a sale of the product, whose word is `iOS|product`, without folding it. */
async function sell(user: string, product: string): Promise<void> {
  const event = {
    ...{ event_id: user, event_name: 'subscription_started', identity_id: user, platform: 'iOS', product_id: product, price: '5' },
    ...{ currency: 'USD', happened_at: '2026-03-01T12:00:00Z' },
    transaction: { transaction_id: user, original_transaction_id: user, expires_at: '2026-04-01T12:00:00Z' },
  }
  const { body } = await api.call('POST', '/v4/events', { key: project.secret, body: { events: [event] } })
  expect(body).toMatchObject({ created: 1 })
}
const fold = () => drainMarks(api.pool, environment, 10_000)
async function recordSales(...sales: [user: string, product: string][]): Promise<void> {
  for (const [user, product] of sales) await sell(user, product)
  await fold()
}
/** Without what is kept of erased users for a time. */
async function erase(user: string, isKept = false): Promise<void> {
  const { rows } = await api.pool.query<{ id: string }>('select id from users where environment = $1 and identity_id = $2', [
    environment,
    user,
  ])
  await transaction(api.pool, tx => eraseCustomer(tx, environment, rows[0]!.id, secretsFrom(APP_SECRET)))
  if (!isKept) await api.pool.query('delete from erased_facts')
}
/** The first housekeeping of a day notes its seq. */
async function nextDay(): Promise<void> {
  await api.pool.query('delete from fact_days')
  await dropTombstones(api.pool, 1_000)
}
const remove = (batch = 1_000, pool = api.pool) => removeUnusedVocabulary(pool, batch, null)
const words = async () =>
  (
    await api.pool.query<{ word: string }>(
      'select word from fact_words where environment = $1 and word is not null order by word collate "C"',
      [environment],
    )
  ).rows.map(({ word }) => word)
const numberOf = async (word: string): Promise<number | undefined> =>
  (await api.pool.query<{ no: number }>('select no from fact_words where environment = $1 and word = $2', [environment, word])).rows[0]?.no

test('a word that only an erased user had goes, and no other word', async () => {
  await recordSales(['anna', 'rare'], ['ben', 'common'], ['carl', 'common'])
  await nextDay()
  expect([await remove(), await words()]).toEqual([0, ['USD', 'iOS', 'iOS|common', 'iOS|rare']])
  await erase('anna')
  await erase('ben')
  await nextDay()
  expect([await remove(), await words()]).toEqual([1, ['USD', 'iOS', 'iOS|common']])
  expect(await remove()).toBe(0)
  const { rows } = await api.pool.query('select store_product from perennial_products where environment = $1', [environment])
  expect(rows).toEqual([{ store_product: 'iOS|common' }])
})

test('a word that is kept of an erased user stays as long as that', async () => {
  await recordSales(['anna', 'rare'], ['ben', 'common'])
  await erase('anna', true)
  await nextDay()
  expect([await remove(), await words()]).toEqual([0, ['USD', 'iOS', 'iOS|common', 'iOS|rare']])
  await erase('ben')
  await nextDay()
  expect([await remove(), await words()]).toEqual([4, []])
})

test('words are not looked for twice a day, nor where no row became a tombstone', async () => {
  await recordSales(['anna', 'a'], ['ben', 'b'])
  await nextDay()
  await remove()
  await erase('anna')
  expect(await remove()).toBe(0)
  await nextDay()
  expect(await remove()).toBe(1)
  await recordSales(['carl', 'c'])
  await api.pool.query(
    `insert into user_facts (environment, generation, seq, user_no) select $1, 1, seq, n from fact_state, generate_series(1000, 3000) n
     where environment = $1`,
    [environment],
  )
  await api.pool.query('analyze user_facts')
  await nextDay()
  const looking = connect({ url: api.databaseUrl, max: 1 })
  const tables = ['user_facts', 'transaction_facts', 'subscription_changes', 'fact_words']
  const before = await rowsRead([api.pool, looking], tables)
  expect(await remove(1_000, looking)).toBe(0)
  const after = await rowsRead([api.pool, looking], tables)
  await looking.end()
  for (const table of tables) expect([table, after[table]! - before[table]!]).toEqual([table, expect.toSatisfy(rows => rows < 20)])
})

test('more unused words than a batch go batch by batch', async () => {
  await recordSales(['anna', 'a'], ['ben', 'b'], ['carl', 'c'])
  await erase('anna')
  await erase('ben')
  await nextDay()
  expect([await remove(1), await remove(1), await remove(1)]).toEqual([1, 1, 0])
  expect(await words()).toEqual(['USD', 'iOS', 'iOS|c'])
})

test('the tombstone of a word goes after seven days, and its number is not given again', async () => {
  await recordSales(['anna', 'rare'], ['ben', 'common'])
  const former = await numberOf('iOS|rare')
  await erase('anna')
  await nextDay()
  await remove()
  const row = async () =>
    (await api.pool.query('select word, seq from fact_words where environment = $1 and no = $2', [environment, former])).rows
  const { seq } = (await api.pool.query('select seq from fact_state where environment = $1', [environment])).rows[0]
  expect(await row()).toEqual([{ word: null, seq }])
  await nextDay()
  await api.pool.query('update fact_days set day = day - 6')
  await dropTombstones(api.pool, 1_000)
  expect(await row()).toHaveLength(1)
  await api.pool.query('update fact_days set day = day - 1')
  await dropTombstones(api.pool, 1_000)
  expect(await row()).toEqual([])
  await recordSales(['carl', 'rare'])
  expect(await numberOf('iOS|rare')).toBeGreaterThan(former!)
})

test('after a rebuild the words of the former facts go with them', async () => {
  await recordSales(['anna', 'a'], ['ben', 'b'])
  await nextDay()
  await remove()
  await api.pool.query(`update events set product_id = 'c' where environment = $1 and product_id = 'b'`, [environment])
  expect(await rebuildFacts(api.pool, environment, { isStopping: () => false })).toMatchObject({ is: 'done' })
  await nextDay()
  expect([await remove(), await numberOf('iOS|b')]).toEqual([0, expect.any(Number)])
  await dropOldGenerations(api.pool, 1_000)
  expect([await remove(), await words()]).toEqual([1, ['USD', 'iOS', 'iOS|a', 'iOS|c']])
})

/** Whole numbers of 32 bits that are no words. */
const OTHER_NUMBERS = ['environment', 'bought_on', 'a_bought_on', 'b_bought_on']

test('a word that is in a single column of a single row is kept, whatever the column and generation', async () => {
  const { rows: columns } = await api.pool.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
     where table_name in ('user_facts', 'transaction_facts', 'subscription_changes') and data_type = 'integer' and not column_name = any ($1)
     order by 1, 2`,
    [OTHER_NUMBERS],
  )
  expect(columns).toHaveLength(37)
  await api.pool.query('update fact_state set building = 2, seq = 1 where environment = $1', [environment])
  for (const generation of [1, 2])
    for (const [i, { table, column }] of columns.entries())
      await api.pool.query(
        `with word as (insert into fact_words (environment, word, seq) values ($1, $2, 1) returning no)
         insert into ${table} (environment, generation, seq, user_no, ${column}) select $1, $3, 1, $4, no from word`,
        [environment, `${generation} ${table}.${column}`, generation, i],
      )
  await nextDay()
  expect(await remove()).toBe(0)
  for (const { table } of columns) await api.pool.query(`delete from ${table} where environment = $1`, [environment])
  await api.pool.query('update fact_state set words_checked_seq = -1 where environment = $1', [environment])
  expect(await remove()).toBe(2 * columns.length)
})

/** Begins the works one after the other, each when those before wait for the state of the facts, and lets them go on in this order. */
async function inOrder(...works: (() => Promise<unknown>)[]): Promise<void> {
  const blocker = await api.pool.connect()
  await blocker.query('begin')
  await blocker.query('select from fact_state where environment = $1 for update', [environment])
  const begun: Promise<unknown>[] = []
  for (const work of works) {
    begun.push(work())
    await until('it waits', async () => {
      const { rowCount } = await blocker.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      return rowCount === begun.length || undefined
    })
  }
  await blocker.query('commit')
  blocker.release()
  await Promise.all(begun)
}

const productsSold = async () =>
  (
    await api.pool.query<{ word: string | null }>(
      `select w.word from transaction_facts t left join fact_words w on w.environment = t.environment and w.no = t.product
       where t.environment = $1 and t.kind is not null order by t.id`,
      [environment],
    )
  ).rows.map(({ word }) => word)

test.each([
  ['before a fold that has found it writes it: the fold gives it another number', 'removal'],
  ['when a fold has written it since: the word stays', 'fold'],
])('a word is removed %s', async (_, first) => {
  await recordSales(['anna', 'rare'], ['ben', 'common'])
  const former = await numberOf('iOS|rare')
  await erase('anna')
  await nextDay()
  await sell('carl', 'rare')
  const works = [remove, fold]
  await inOrder(...(first === 'removal' ? works : works.reverse()))
  expect(await productsSold()).toEqual(['iOS|common', 'iOS|rare'])
  expect((await numberOf('iOS|rare')) === former).toBe(first === 'fold')
  await nextDay()
  expect(await remove()).toBe(0)
})

test('of several processes one looks for words', async () => {
  await recordSales(['anna', 'rare'])
  await erase('anna')
  await nextDay()
  const { seq } = (await api.pool.query('select seq from fact_state where environment = $1', [environment])).rows[0]
  const removed = await Promise.all(Array.from({ length: 4 }, () => remove()))
  expect(removed.sort()).toEqual([0, 0, 0, 3])
  expect((await api.pool.query('select seq from fact_state where environment = $1', [environment])).rows).toEqual([{ seq: seq + 1 }])
})

test('a look that is stopped removes nothing, and the next one does', async () => {
  await recordSales(['anna', 'rare'])
  await erase('anna')
  await nextDay()
  let requestCount = 0
  expect(await removeUnusedVocabulary(api.pool, 1_000, null, () => requestCount++ > 1)).toBe(0)
  expect(await remove()).toBe(3)
})
