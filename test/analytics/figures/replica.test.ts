import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { dropTombstones } from '../../../domain/analytics/facts/retention.ts'
import { removeUnusedVocabulary } from '../../../domain/analytics/facts/unused-vocabulary.ts'
import { type FactAccess, withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { dollars, sellingIn } from './coins.ts'
import { type Opened, settingWithReplicas } from './open-replicas.ts'

const setting = settingWithReplicas()
const { sell, readSales } = sellingIn(setting)

const files = async () => (await readdir(setting.folder)).filter(name => name.endsWith('.duckdb'))

test('what was posted is in the next answer, and after a restart the file serves again', async () => {
  await sell(3)
  const first = setting.open()
  expect(await readSales(first)).toEqual({ sales: 3, money: dollars(3) })
  for (let n = 4; n < 8; n++) {
    await sell(1)
    expect(await readSales(first)).toEqual({ sales: n, money: dollars(n) })
  }
  expect(new Set(first.answers)).toEqual(new Set(['replica']))
  await first.close()
  await sell(1)
  const second = setting.open()
  expect(await readSales(second)).toEqual({ sales: 8, money: dollars(8) })
  expect([second.answers, second.errors, (await files()).length]).toEqual([['replica'], [], 1])
})

describe('a file that is of no use is made anew', () => {
  const SPOILED: Record<string, (path: string) => Promise<unknown>> = {
    'was truncated': path => truncate(path, 5_000),
    'is empty': path => truncate(path, 0),
    'is none of DuckDB': path => writeFile(path, 'x'.repeat(100_000)),
    'has facts of another past': () =>
      setting.api.pool.query('update transaction_facts set amount = amount + 1000000 where environment = $1', [setting.project.production]),
    'is of another generation': () =>
      setting.api.pool.query(
        `with moved as (update transaction_facts set generation = 2 where environment = $1), users as (update user_facts set generation = 2 where environment = $1)
         update fact_state set generation = 2 where environment = $1`,
        [setting.project.production],
      ),
    'misses tombstones that are gone': () =>
      setting.api.pool.query('update fact_state set seq = seq + 10, pruned_seq = seq + 5 where environment = $1', [
        setting.project.production,
      ]),
    'is ahead of a database from a backup': () =>
      setting.api.pool.query('update fact_state set seq = seq - 1 where environment = $1', [setting.project.production]),
  }

  test.each(Object.entries(SPOILED))('%s', async (_name, spoil) => {
    await sell(2)
    const before = setting.open()
    await readSales(before)
    await before.close()
    await spoil(join(setting.folder, (await files())[0]!))
    const after = setting.open()
    const { rows } = await setting.api.pool.query<{ sales: number; money: string }>(
      'select count(*)::int as sales, sum(amount)::text as money from transaction_facts where environment = $1 and kind = 5',
      [setting.project.production],
    )
    expect(await readSales(after)).toEqual({ sales: rows[0]!.sales, money: BigInt(rows[0]!.money) })
    expect([after.answers, after.errors]).toEqual([['replica'], []])
  })
})

test('a new generation reaches a replica that is open', async () => {
  await sell(2)
  const one = setting.open()
  await readSales(one)
  await setting.api.pool.query(
    `with gone as (delete from transaction_facts where environment = $1) update fact_state set generation = 2, seq = seq + 1 where environment = $1`,
    [setting.project.production],
  )
  expect((await readSales(one)).sales).toBe(0)
  expect((await readSales(one)).sales).toBe(0)
  // Postgres answers in between, unless the replica noticed by itself.
  expect(one.answers.at(-1)).toBe('replica')
})

test('rows that were on their way to a file when a process died are removed by whoever has the file next', async () => {
  await sell(1)
  const first = setting.open()
  await readSales(first)
  await first.close()
  const [file] = await files()
  const left = ['0b1c', '2d3e'].map(name => `${file}.${name}.csv`)
  const other = `${file!.replace('-0.duckdb', '-1.duckdb')}.4f5a.csv`
  for (const name of [...left, other]) await writeFile(join(setting.folder, name), '1,2')
  const second = setting.open()
  expect([(await readSales(second)).sales, second.answers]).toEqual([1, ['replica']])
  // The other rows are of another process.
  expect((await readdir(setting.folder)).filter(name => name.endsWith('.csv'))).toEqual([other])
})

test('what was computed is kept while the facts are the same, and a failure is not', async () => {
  await sell(1)
  const one = setting.open()
  let times = 0
  const read = () =>
    withFacts(one.access, setting.project.production, ({ kept }) =>
      kept('times', async () => {
        if (++times === 1) throw new Error('the first time')
        return times
      }),
    )
  await expect(read()).rejects.toThrow('the first time')
  expect(await Promise.all([read(), read()])).toEqual([2, 2])
  await sell(1)
  expect([await read(), await read(), new Set(one.answers)]).toEqual([3, 3, new Set(['replica'])])
})

test('facts of all kinds make a replica worth it', async () => {
  await sell(2)
  const one = setting.open({ from: 4 })
  expect([await readSales(one), one.answers]).toEqual([{ sales: 2, money: dollars(2) }, ['replica']])
  const few = setting.open({ from: 5 })
  expect([await readSales(few), few.answers]).toEqual([{ sales: 2, money: dollars(2) }, []])
})

test('what an earlier version of the service left is removed', async () => {
  await sell(1)
  await mkdir(setting.folder, { recursive: true })
  await writeFile(join(setting.folder, '7-0123456789ab-0.duckdb'), '')
  await readSales(setting.open())
  expect(await files()).not.toContain('7-0123456789ab-0.duckdb')
})

test('who was erased is in no replica after the next question', async () => {
  await sell(2)
  const leaver = (await setting.api.call('POST', '/v4/users', { key: setting.project.secret, body: { environment: 'prod' } })).body.id
  await sell(1, '10', leaver)
  const one = setting.open()
  expect((await readSales(one)).sales).toBe(3)
  expect((await setting.api.call('DELETE', `/v4/customers/${leaver}`, { key: setting.project.secret })).status).toBeLessThan(300)
  expect((await readSales(one)).sales).toBe(2)
  const left = await withFacts(one.access, setting.project.production, ({ query, dialect }) =>
    query({ text: `select count(*) as n from ${dialect.tables.users} u` }),
  )
  expect([left[0]!.n, new Set(one.answers)]).toEqual([2n, new Set(['replica'])])
})

test('a word that only an erased user had is in no replica after the next question, and may come back', async () => {
  const { api, project } = setting
  await sell(1)
  const leaver = (await api.call('POST', '/v4/users', { key: project.secret, body: { environment: 'prod' } })).body.id
  await sell(1, '10', leaver, 'rare')
  const one = setting.open()
  const words = (opened: Opened) =>
    withFacts(opened.access, project.production, async ({ numbersOf, textsOf }) => {
      const numbers = await numbersOf(['iOS|coins', 'iOS|rare'])
      return [[...numbers.keys()].sort(), [...(await textsOf([...numbers.values()])).values()].sort()]
    })
  const both = ['iOS|coins', 'iOS|rare']
  expect(await words(one)).toEqual([both, both])
  await api.call('DELETE', `/v4/customers/${leaver}`, { key: project.secret })
  // What explains figures is kept of an erased user for a time, and its words with it.
  await api.pool.query('delete from erased_facts')
  await api.pool.query('delete from fact_days')
  await dropTombstones(api.pool, 1_000)
  expect(await removeUnusedVocabulary(api.pool, 1_000, null)).toBe(1)
  const fresh = setting.open({ folder: join(setting.folder, 'fresh') })
  for (const opened of [one, fresh]) expect(await words(opened)).toEqual([['iOS|coins'], ['iOS|coins']])
  await sell(1, '10', undefined, 'rare')
  for (const opened of [one, fresh]) expect(await words(opened)).toEqual([both, both])
  expect(new Set([...one.answers, ...fresh.answers])).toEqual(new Set(['replica']))
})

test('after any pulls a replica has the facts of a new one', async () => {
  const followed = setting.open()
  for (let n = 0; n < 8; n++) {
    await sell(1 + (n % 3), String(5 + n))
    if (n % 3 === 2)
      await setting.api.pool.query(
        'insert into stale_users (environment, user_no) select environment, no from users where environment = $1 on conflict do nothing',
        [setting.project.production],
      )
    await readSales(followed)
  }
  const fresh = setting.open({ folder: join(setting.folder, 'fresh') })
  const contentOf = (access: FactAccess) =>
    withFacts(access, setting.project.production, async ({ query, dialect }) => {
      const { transactions, changes, users } = dialect.tables
      const all = [`${transactions} t order by t.id`, `${changes} t order by t.id`, `${users} t order by t.user_no`]
      return Promise.all(all.map(from => query({ text: `select t.* from ${from}` })))
    })
  expect(await contentOf(followed.access)).toEqual(await contentOf(fresh.access))
  expect([...followed.answers, ...fresh.answers].every(by => by === 'replica')).toBe(true)
})
