import { mkdir, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { dropTombstones } from '../../domain/facts/retention.ts'
import { removeUnusedWords } from '../../domain/facts/unused-words.ts'
import { filtersOf, segmentationsOf } from '../../domain/figures/attributes.ts'
import { chartOf } from '../../domain/figures/chart-table.ts'
import { chartFigures } from '../../domain/figures/charts/chart.ts'
import { type FactAccess, withFacts } from '../../domain/figures/open-source.ts'
import { readQuestion } from '../../domain/figures/question.ts'
import type { FactSource, FigureRow } from '../../domain/figures/source.ts'
import { until } from '../harness/until.ts'
import { type Opened, settingWithReplicas } from './open-replicas.ts'

const setting = settingWithReplicas()

let sales = 0
async function sell(count: number, price = '10', user?: string, product = 'coins'): Promise<void> {
  const events = Array.from({ length: count }, () => {
    const n = sales++
    return {
      ...{
        event_id: `sale-${n}`,
        event_name: 'in_app_purchase',
        ...(user ? { customer_uid: user } : { identity_id: `user-${n}` }),
        platform: 'iOS',
        product_id: product,
      },
      ...{ happened_at: '2026-03-01T12:00:00Z', transaction: { transaction_id: `sale-${n}` }, price, currency: 'USD' },
    }
  })
  const { body } = await setting.api.call('POST', '/v4/events', { key: setting.project.secret, body: { events } })
  expect(body).toMatchObject({ created: count })
}

const soldBy = ({ query, dialect }: FactSource): Promise<FigureRow[]> =>
  query({
    text: `select count(*) as sales, ${dialect.sum(dialect.wide('t.amount'))} as money from ${dialect.tables.transactions} t where t.kind = 5`,
  })

async function sold({ access }: Opened): Promise<{ sales: number; money: bigint }> {
  const [row] = await withFacts(access, setting.project.production, soldBy)
  return { sales: Number(row!.sales), money: row!.money as bigint }
}

const dollars = (count: number) => BigInt(count) * 10_000_000n
const files = async () => (await readdir(setting.folder)).filter(name => name.endsWith('.duckdb'))

test('what was posted is in the next answer, and after a restart the file serves again', async () => {
  await sell(3)
  const first = setting.open()
  expect(await sold(first)).toEqual({ sales: 3, money: dollars(3) })
  for (let n = 4; n < 8; n++) {
    await sell(1)
    expect(await sold(first)).toEqual({ sales: n, money: dollars(n) })
  }
  expect(new Set(first.answers)).toEqual(new Set(['replica']))
  await first.close()
  await sell(1)
  const second = setting.open()
  expect(await sold(second)).toEqual({ sales: 8, money: dollars(8) })
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
    await sold(before)
    await before.close()
    await spoil(join(setting.folder, (await files())[0]!))
    const after = setting.open()
    const { rows } = await setting.api.pool.query<{ sales: number; money: string }>(
      'select count(*)::int as sales, sum(amount)::text as money from transaction_facts where environment = $1 and kind = 5',
      [setting.project.production],
    )
    expect(await sold(after)).toEqual({ sales: rows[0]!.sales, money: BigInt(rows[0]!.money) })
    expect([after.answers, after.errors]).toEqual([['replica'], []])
  })
})

test('a new generation reaches a replica that is open', async () => {
  await sell(2)
  const one = setting.open()
  await sold(one)
  await setting.api.pool.query(
    `with gone as (delete from transaction_facts where environment = $1) update fact_state set generation = 2, seq = seq + 1 where environment = $1`,
    [setting.project.production],
  )
  expect((await sold(one)).sales).toBe(0)
  expect((await sold(one)).sales).toBe(0)
  // Postgres answers in between, unless the replica noticed by itself.
  expect(one.answers.at(-1)).toBe('replica')
})

test('where no file can be written, a temporary folder serves', async () => {
  await sell(1)
  await writeFile(join(setting.folder, 'replicas'), 'not a folder')
  const one = setting.open({ folder: join(setting.folder, 'replicas') })
  expect(await sold(one)).toEqual({ sales: 1, money: dollars(1) })
  expect(one.answers).toEqual(['replica'])
})

test('rows that were on their way to a file when a process died are removed by whoever has the file next', async () => {
  await sell(1)
  const first = setting.open()
  await sold(first)
  await first.close()
  const [file] = await files()
  const left = ['0b1c', '2d3e'].map(name => `${file}.${name}.csv`)
  const other = `${file!.replace('-0.duckdb', '-1.duckdb')}.4f5a.csv`
  for (const name of [...left, other]) await writeFile(join(setting.folder, name), '1,2')
  const second = setting.open()
  expect([(await sold(second)).sales, second.answers]).toEqual([1, ['replica']])
  // The other rows are of another process.
  expect((await readdir(setting.folder)).filter(name => name.endsWith('.csv'))).toEqual([other])
})

test('where DuckDB could not start, it is started for the next environment', async () => {
  await sell(1)
  await writeFile(join(setting.folder, 'replicas'), 'not a folder')
  const one = setting.open({ folder: join(setting.folder, 'replicas') })
  const of = async (environment: number) => Number((await withFacts(one.access, environment, soldBy))[0]!.sales)
  // No temporary folder either.
  vi.stubEnv('TMPDIR', join(setting.folder, 'nowhere'))
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(await of(setting.project.production)).toBe(1)
  vi.unstubAllEnvs()
  expect(await of(setting.project.sandboxEnvironment)).toBe(0)
  expect(one.answers).toEqual(['broken', 'replica'])
})

test('facts of all kinds make a replica worth it', async () => {
  await sell(2)
  const one = setting.open({ from: 4 })
  expect([await sold(one), one.answers]).toEqual([{ sales: 2, money: dollars(2) }, ['replica']])
  const few = setting.open({ from: 5 })
  expect([await sold(few), few.answers]).toEqual([{ sales: 2, money: dollars(2) }, []])
})

test('what an earlier version of the service left is removed', async () => {
  await sell(1)
  await mkdir(setting.folder, { recursive: true })
  await writeFile(join(setting.folder, '7-0123456789ab-0.duckdb'), '')
  await sold(setting.open())
  expect(await files()).not.toContain('7-0123456789ab-0.duckdb')
})

test('without memory for a question Postgres answers, and it is counted', async () => {
  await sell(5)
  const one = setting.open({ memory: '1MB' })
  expect(await sold(one)).toEqual({ sales: 5, money: dollars(5) })
  expect(one.answers).toHaveLength(1)
  expect(['memory', 'broken']).toContain(one.answers[0])
})

test('a sum of more than 128 bits is that of Postgres', async () => {
  await sell(3, '999999999999.999999')
  const one = setting.open()
  const huge = '170141183460469231731'
  const text = ({ dialect }: FactSource) =>
    `select ${dialect.sum(`${dialect.wide('t.amount')} * ${huge}`)} as money from ${dialect.tables.transactions} t where t.kind = 5`
  const [row] = await withFacts(one.access, setting.project.production, source => source.query({ text: text(source) }))
  expect(row!.money).toBe(3n * 999_999_999_999_999_999n * BigInt(huge))
  expect(one.answers).toEqual(['overflow'])
})

test('who was erased is in no replica after the next question', async () => {
  await sell(2)
  const leaver = (await setting.api.call('POST', '/v4/users', { key: setting.project.secret, body: { environment: 'prod' } })).body.id
  await sell(1, '10', leaver)
  const one = setting.open()
  expect((await sold(one)).sales).toBe(3)
  expect((await setting.api.call('DELETE', `/v4/customers/${leaver}`, { key: setting.project.secret })).status).toBeLessThan(300)
  expect((await sold(one)).sales).toBe(2)
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
    withFacts(opened.access, project.production, async ({ numbersOf, wordsOf }) => {
      const numbers = await numbersOf(['iOS|coins', 'iOS|rare'])
      return [[...numbers.keys()].sort(), [...(await wordsOf([...numbers.values()])).values()].sort()]
    })
  const both = ['iOS|coins', 'iOS|rare']
  expect(await words(one)).toEqual([both, both])
  await api.call('DELETE', `/v4/customers/${leaver}`, { key: project.secret })
  await api.pool.query('delete from fact_days')
  await dropTombstones(api.pool, 1_000)
  expect(await removeUnusedWords(api.pool, 1_000, null)).toBe(1)
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
    await sold(followed)
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

describe('what stood at the start of a month', () => {
  const NOW = Math.floor(Date.now() / 1000)
  const DAY = 86_400
  const iso = (at: number) => new Date(at * 1000).toISOString()

  async function subscribe(name: string, begin: number, end: number, price: string): Promise<void> {
    const transaction = { transaction_id: name, original_transaction_id: name, transaction_date: iso(begin), expires_at: iso(end) }
    const event = {
      ...{
        event_id: name,
        event_name: 'subscription_started',
        identity_id: name,
        platform: 'iOS',
        product_id: 'm',
        price,
        currency: 'USD',
      },
      ...{ happened_at: iso(begin), transaction },
    }
    const { body } = await setting.api.call('POST', '/v4/events', { key: setting.project.secret, body: { events: [event] } })
    expect(body).toMatchObject({ created: 1 })
  }

  const monthly = async ({ access }: Pick<Opened, 'access'>) => {
    const chart = chartOf('mrr')!
    const question = readQuestion(
      { from: NOW - 20 * DAY, to: NOW },
      { filters: filtersOf(chart), segmentations: segmentationsOf(chart), own: 1 },
      { now: NOW, hasRate: true },
    )
    const { series } = await chartFigures(access, setting.project.production, chart, question)
    return series.map(({ line }) => [line.total, line.totalPrev, ...line.data].map(({ top, bottom }) => String((top * 1_000n) / bottom)))
  }
  const standing = ({ access }: Opened) =>
    withFacts(access, setting.project.production, async source => source.standing(NOW - 20 * DAY, NOW)?.at ?? null)

  test('is kept, gives the same figures, and is made anew after a change before it', async () => {
    await subscribe('long', NOW - 200 * DAY, NOW + 100 * DAY, '10')
    await subscribe('over', NOW - 200 * DAY, NOW - 150 * DAY, '7')
    await subscribe('young', NOW - 3 * DAY, NOW + 27 * DAY, '5')
    const one = setting.open()
    const truth = () => monthly({ access: { ...one.access, replicas: null } })
    expect(await monthly(one)).toEqual(await truth())
    const month = await until('the standings are made', async () => (await standing(one)) ?? undefined)
    expect(await monthly(one)).toEqual(await truth())
    expect(await standing(one)).toBe(month)

    await subscribe('new', NOW - DAY, NOW + 29 * DAY, '3')
    expect(await monthly(one)).toEqual(await truth())
    expect(await standing(one)).toBe(month)

    await subscribe('late', NOW - 190 * DAY, NOW + 90 * DAY, '20')
    expect(await monthly(one)).toEqual(await truth())
    await until('the standings are made again', async () => (await standing(one)) ?? undefined)
    expect(await monthly(one)).toEqual(await truth())
    expect([new Set(one.answers), one.errors]).toEqual([new Set(['replica']), []])
  })
})
