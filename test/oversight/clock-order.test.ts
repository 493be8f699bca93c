import { setImmediate as tick } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readClock } from '../../domain/durable/clock/clock.ts'
import { advanceClock } from '../../domain/oversight/reconciliation/advance-clock.ts'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { seeded } from '../harness/load.ts'

let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterAll(() => fixture.drop())

const HOUR = 3_600
const random = seeded(3)

test('during an advance the jobs of one instant that workers execute run one at a time, by time, kind and id', async () => {
  const { pool, otherEnvironment: environment } = fixture
  const executed: string[] = []
  let running = 0
  let most = 0
  const noting = (kind: string) =>
    workflow(kind, async context => {
      await context.step('note', async () => {
        most = Math.max(most, ++running)
        for (let n = Math.floor(random() * 50); n > 0; n--) await tick()
        running--
        executed.push(`${kind} ${context.run}`)
      })
    })
  const kinds = ['beta', 'alpha', 'gamma']
  await Promise.all([fixture.work(kinds.map(noting)), fixture.work(kinds.map(noting))])

  const made: { kind: string; id: number; hours: number }[] = []
  for (let n = 0; n < 24; n++) {
    const [kind, hours] = [kinds[n % 3]!, 1 + (n % 2)]
    made.push({ kind, hours, id: await fixture.begin(kind, `${n}`, { environment, afterSeconds: hours * HOUR }) })
  }
  // To one instant each.
  await pool.query(`update due set due_at = date_trunc('hour', due_at) + interval '1 hour'`)
  const { now } = await readClock(pool, environment)
  const to = new Date(Date.parse(now) + 5 * HOUR * 1000).toISOString()
  await advanceClock(environment, to, { pool, beat: async () => {} })

  const expected = made.sort((a, b) => a.hours - b.hours || a.kind.localeCompare(b.kind) || a.id - b.id)
  expect(executed).toEqual(expected.map(({ kind, id }) => `${kind} ${id}`))
  expect(most).toBe(1)
  expect((await pool.query('select 1 from clock_turns')).rowCount).toBe(0)
  // Afterwards they run freely again.
  const free = await fixture.begin('alpha', 'free', { environment })
  expect(await fixture.ended(free)).toMatchObject({ status: 'succeeded' })
})

test('an advance of one environment does not hold up the jobs of another', async () => {
  const { pool, environment, otherEnvironment } = fixture
  await pool.query(`insert into clock_turns (environment, until) values ($1, clock_timestamp() + interval '1 hour')`, [otherEnvironment])
  const held = await fixture.begin('alpha', 'held', { environment: otherEnvironment })
  expect(await fixture.ended(await fixture.begin('alpha', 'other', { environment }))).toMatchObject({ status: 'succeeded' })
  expect((await pool.query('select fence from due where id = $1', [held])).rows).toEqual([{ fence: 0 }])
  // The process that advanced the clock has died: its turns end by themselves.
  await pool.query('update clock_turns set until = clock_timestamp()')
  expect(await fixture.ended(held)).toMatchObject({ status: 'succeeded' })
})
