import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { filtersOf, segmentationsOf } from '../../../domain/analytics/figures/attributes.ts'
import { chartOf } from '../../../domain/analytics/figures/chart-table.ts'
import { chartFigures } from '../../../domain/analytics/figures/charts/chart.ts'
import { PER_UNIT } from '../../../domain/analytics/figures/charts/money.ts'
import { type FactAccess, withFacts } from '../../../domain/analytics/figures/open-source.ts'
import { readQuestion } from '../../../domain/analytics/figures/question.ts'
import { share } from '../../harness/effort.ts'
import { SEED } from './draws.ts'
import { settingWithReplicas } from './open-replicas.ts'

const HOUR = 3_600
const DAY = 24 * HOUR

const setting = settingWithReplicas()

const now = () => Math.floor(Date.now() / 1000)

/** Users of these names see a screen: no fact of money comes of that. */
async function visit(visits: { user: string; at: number }[]): Promise<void> {
  if (visits.length === 0) return
  const events = visits.map(({ user, at }) => ({
    ...{ event_id: crypto.randomUUID(), event_name: 'screen_viewed', identity_id: user, platform: 'iOS', screen_id: 'onboarding' },
    happened_at: new Date(at * 1000).toISOString(),
  }))
  const { body } = await setting.api.call('POST', '/v4/events', { key: setting.project.secret, body: { events } })
  expect(body).toMatchObject({ created: visits.length })
}

async function sell(user: string, at: number): Promise<void> {
  const id = crypto.randomUUID()
  const event = {
    ...{
      event_id: id,
      event_name: 'in_app_purchase',
      identity_id: user,
      platform: 'iOS',
      product_id: 'coins',
      price: '3',
      currency: 'USD',
    },
    ...{ happened_at: new Date(at * 1000).toISOString(), transaction: { transaction_id: id } },
  }
  const { body } = await setting.api.call('POST', '/v4/events', { key: setting.project.secret, body: { events: [event] } })
  expect(body).toMatchObject({ created: 1 })
}

type HourlyQuestion = { unit: 'hour' | 'day' | 'week'; from: number; zone?: string; at?: number }

/** How many users were active in each bucket, in the window, and in the window before. */
async function activeIn(access: FactAccess, { unit, from, zone = 'UTC', at = now() }: HourlyQuestion) {
  const chart = chartOf('arpu')!
  const question = readQuestion(
    { from, to: at, unit, timezone: zone },
    { filters: filtersOf(chart), segmentations: segmentationsOf(chart), own: 1 },
    { now: at, hasRate: true },
  )
  const { series } = await chartFigures(access, setting.project.production, chart, question)
  const { data, weights } = series[0]!.line
  return { data: data.map(({ bottom }) => bottom / PER_UNIT), ...weights }
}

async function erase(user: string): Promise<boolean> {
  const { rows } = await setting.api.pool.query<{ id: string }>('select id from users where environment = $1 and identity_id = $2', [
    setting.project.production,
    user,
  ])
  if (!rows[0]) return false
  expect((await setting.api.call('DELETE', `/v4/customers/${rows[0].id}`, { key: setting.project.secret })).status).toBe(204)
  return true
}

const USERS = ['ann', 'bob', 'cem', 'dan', 'eve']
const step = fc.record({
  visits: fc.array(fc.record({ user: fc.constantFrom(...USERS), ago: fc.integer({ min: 0, max: 6 * DAY }) }), { maxLength: 8 }),
  sale: fc.option(fc.record({ user: fc.constantFrom(...USERS), ago: fc.integer({ min: 0, max: 6 * DAY }) }), { nil: null }),
  erased: fc.option(fc.constantFrom(...USERS), { nil: null, freq: 4 }),
})

test('after any visits, sales and erasures a replica counts the users that Postgres counts', { timeout: 120_000 }, async () => {
  const runs = share(3)
  const agree = fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 10 }), async steps => {
    setting.project = await setting.api.newProject()
    const one = setting.open({ folder: join(setting.folder, crypto.randomUUID()) })
    await visit([{ user: 'ann', at: now() - 3 * DAY }])
    for (const { visits, sale, erased } of steps) {
      const clock = now()
      await visit(visits.map(({ user, ago }) => ({ user, at: clock - ago })))
      if (sale) await sell(sale.user, clock - sale.ago)
      if (erased) await erase(erased)
      const at = now()
      for (const zone of ['UTC', 'Asia/Kolkata', 'America/New_York']) {
        for (const unit of ['day', 'week'] as const) {
          const unitQuestion = { unit, zone, at, from: at - (at % DAY) - 5 * DAY }
          expect(await activeIn(one.access, unitQuestion)).toEqual(await activeIn({ ...one.access, replicas: null }, unitQuestion))
        }
      }
    }
    expect([new Set(one.answers), one.errors]).toEqual([new Set(['replica']), []])
    await one.close()
  })
  await fc.assert(agree, { numRuns: runs, seed: SEED, endOnFailure: true })
})

test('a visit that is no money is in the next answer', async () => {
  const one = setting.open()
  const at = now()
  const seen = () => activeIn(one.access, { unit: 'day', from: at - 3 * DAY, at })
  expect((await seen()).total).toBe(0n)
  for (const [i, user] of USERS.entries()) {
    await visit([{ user, at: at - 1 - i * 10 * HOUR }])
    expect((await seen()).total).toBe(BigInt(i + 1))
  }
  expect(new Set(one.answers)).toEqual(new Set(['replica']))
})

test('a transaction makes its user active at its time, which the log need not have, until it is gone', async () => {
  const at = now()
  await visit([{ user: 'ann', at: at - 10 }])
  const one = setting.open()
  const unitQuestion: HourlyQuestion = { unit: 'day', from: at - (at % DAY) - 3 * DAY, at }
  const first = async () => (await activeIn(one.access, unitQuestion)).data[0]
  expect(await first()).toBe(0n)
  const change = (sql: string) =>
    setting.api.pool.query(
      `with next as (update fact_state set seq = seq + 1 where environment = $1 returning environment, generation, seq) ${sql}`,
      [setting.project.production],
    )
  await change(`insert into transaction_facts (environment, generation, seq, user_no, kind, happened)
    select n.environment, n.generation, n.seq, u.no, 1, ${unitQuestion.from + HOUR} from next n join users u on u.environment = n.environment`)
  expect(await first()).toBe(1n)
  await change(
    `update transaction_facts f set seq = n.seq, kind = null, user_no = null, happened = null from next n where f.environment = n.environment`,
  )
  expect(await first()).toBe(0n)
  expect(new Set(one.answers)).toEqual(new Set(['replica']))
})

test('hours of a day that is over are counted from the log', async () => {
  const start = now() - (now() % DAY) - 2 * DAY
  await visit([3, 5, 7, 9].map(hour => ({ user: 'ann', at: start + hour * HOUR })))
  const one = setting.open()
  const unitQuestion: HourlyQuestion = { unit: 'hour', from: start + 4 * HOUR, at: start + 8 * HOUR }
  // The user is created now: after the time that is asked for.
  expect((await activeIn(one.access, unitQuestion)).data).toEqual([0n, 1n, 0n, 1n])
  expect(one.answers).toEqual(['times'])
})

test('of a day that is over, a file has two times of a user, and none of one who was erased', async () => {
  const start = now() - (now() % DAY) - 2 * DAY
  await visit(USERS.flatMap(user => [3, 5, 7, 9].map(hour => ({ user, at: start + hour * HOUR }))))
  const one = setting.open()
  await activeIn(one.access, { unit: 'day', from: start })
  await erase('bob')
  const unitQuestion = await withFacts(
    one.access,
    setting.project.production,
    async ({ query, activeTimes, asOf }) => {
      const { table } = await activeTimes({ starts: [start], end: asOf }, asOf)
      const log = table.replace('activity_times', 'activity_log')
      const [row] = await query({
        text: `select (select count(*) from ${log}) as in_log, count(*) as times, count(distinct user_no) as users from ${table} where happened < ${start + DAY}`,
      })
      return row!
    },
    { active: true },
  )
  expect(unitQuestion).toEqual({ in_log: 8n, times: 8n, users: 4n })
  expect(new Set(one.answers)).toEqual(new Set(['replica']))
})

test('times of a day that came one by one are two of a user once the day is over', async () => {
  const start = now() - (now() % DAY)
  const one = setting.open()
  const times = (to: number) =>
    withFacts(
      one.access,
      setting.project.production,
      async ({ query, activeTimes, asOf }) => {
        const { table } = await activeTimes({ starts: [start], end: asOf }, asOf)
        const own = `${table.replace('activity_times', 'activity_log')} where happened >= ${start} and happened < ${to}`
        return Number((await query({ text: `select count(*) as times from ${own}` }))[0]!.times)
      },
      { active: true },
    )
  // In the time of the environment it is the evening.
  const setClock = (at: number) =>
    setting.api.pool.query(`update environments set clock_offset = to_timestamp($2) - clock_timestamp() where id = $1`, [
      setting.project.production,
      at,
    ])
  await setClock(start + 20 * HOUR)
  for (let n = 1; n <= 4; n++) {
    await visit(['ann', 'bob'].map(user => ({ user, at: start + n * HOUR })))
    expect(await times(start + DAY)).toBe(2 * n)
  }
  await setClock(start + DAY + 5 * HOUR)
  await visit([{ user: 'ann', at: start + DAY + HOUR }])
  expect(await times(start + DAY)).toBe(4)
  const unitQuestion: HourlyQuestion = { unit: 'day', from: start, at: start + DAY + 2 * HOUR }
  expect(await activeIn(one.access, unitQuestion)).toEqual(await activeIn({ ...one.access, replicas: null }, unitQuestion))
  expect((await activeIn(one.access, unitQuestion)).data).toEqual([2n, 1n])
  expect(new Set(one.answers)).toEqual(new Set(['replica']))
})

test('a process that stops does not wait for a copy of the log, and answers what was asked', async () => {
  const at = now()
  await visit(USERS.map((user, i) => ({ user, at: at - 1 - i * HOUR })))
  const one = setting.open()
  const counted = activeIn(one.access, { unit: 'day', from: at - DAY, at })
  await new Promise(resolve => setTimeout(resolve, 50))
  await one.close()
  expect([(await counted).total, one.errors]).toEqual([BigInt(USERS.length), []])
})
