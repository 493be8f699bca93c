import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../domain/automation-runs/definition.ts'
import { type AutomationBench, automationBench } from '../harness/automation-runs.ts'

let bench: AutomationBench
beforeAll(async () => {
  bench = await automationBench()
  await bench.turn()
})
afterAll(() => bench.drop())

const branch = (
  id: string,
  then: Step[] = [],
  otherwise: Step[] = [],
  conditions: Extract<Step, { type: 'branch' }>['conditions'] = [],
): Step => ({
  id,
  type: 'branch',
  conditions,
  then,
  else: otherwise,
})

test('a run does its steps in order, nested ones in place, and ends', async () => {
  const { number } = await bench.start([branch('a', [branch('b')]), branch('c')])
  const run = await bench.over(number)
  expect(run).toMatchObject({ status: 'succeeded', reason: null, current_step: null, due_at: null })
  expect(run.started_at).not.toBeNull()
  const timeline = await bench.timeline(number)
  expect(timeline.map(step => [step.step_id, step.status, step.result])).toEqual([
    ['a', 'succeeded', { taken: 'then' }],
    ['b', 'succeeded', { taken: 'then' }],
    ['c', 'succeeded', { taken: 'then' }],
  ])
  expect((await bench.pool.query(`select 1 from due where id = $1`, [number])).rowCount).toBe(0)
})

test('each step is durable before the next one begins', async () => {
  const { number } = await bench.start([branch('a'), branch('b'), branch('c')])
  await bench.over(number)
  const { rows } = await bench.pool.query<{ n: number }>(
    'select count(distinct xmin::text)::int as n from automation_steps where run = $1',
    [number],
  )
  expect(rows[0]!.n).toBe(3)
})

test('an exit ends the run at once', async () => {
  const { number } = await bench.start([branch('a', [{ id: 'out', type: 'exit' }]), branch('never')])
  expect(await bench.over(number)).toMatchObject({ status: 'succeeded', reason: 'exit' })
  expect((await bench.timeline(number)).map(step => step.step_id)).toEqual(['a', 'out'])
})

test('a delay rests until its stored deadline and goes on when it has passed', async () => {
  const { number } = await bench.start([{ id: 'wait', type: 'delay', duration: 'P1M' }, branch('after')])
  const resting = await bench.resting(number)
  expect(resting).toMatchObject({ status: 'waiting', current_step: 'wait' })
  const [step] = await bench.timeline(number)
  const deadline = new Date(step!.started_at)
  deadline.setUTCMonth(deadline.getUTCMonth() + 1)
  expect(step).toMatchObject({ status: 'waiting', due_at: deadline.toISOString().replace('.000', '') })
  expect(resting.due_at).toBe(step!.due_at)
  await bench.advance(31 * 86_400)
  expect(await bench.over(number)).toMatchObject({ status: 'succeeded' })
  expect((await bench.timeline(number))[0]).toMatchObject({ status: 'succeeded', result: { due_at: step!.due_at }, due_at: step!.due_at })
})
