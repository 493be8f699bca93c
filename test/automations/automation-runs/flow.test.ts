import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'

let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
  await fixture.startWorker()
})
afterAll(() => fixture.drop())

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

test('a run executes its steps in order, with nested steps in their position, and succeeds', async () => {
  const { number } = await fixture.start([branch('a', [branch('b')]), branch('c')])
  const run = await fixture.finished(number)
  expect(run).toMatchObject({ status: 'succeeded', reason: null, current_step: null, due_at: null })
  expect(run.started_at).not.toBeNull()
  const timeline = await fixture.timeline(number)
  expect(timeline.map(step => [step.step_id, step.status, step.result])).toEqual([
    ['a', 'succeeded', { taken: 'then' }],
    ['b', 'succeeded', { taken: 'then' }],
    ['c', 'succeeded', { taken: 'then' }],
  ])
  expect((await fixture.pool.query(`select 1 from due where id = $1`, [number])).rowCount).toBe(0)
})

test('each step is committed before the next step begins', async () => {
  const { number } = await fixture.start([branch('a'), branch('b'), branch('c')])
  await fixture.finished(number)
  const { rows } = await fixture.pool.query<{ n: number }>(
    'select count(distinct xmin::text)::int as n from automation_steps where run = $1',
    [number],
  )
  expect(rows[0]!.n).toBe(3)
})

test('an exit step ends the run at once', async () => {
  const { number } = await fixture.start([branch('a', [{ id: 'out', type: 'exit' }]), branch('never')])
  expect(await fixture.finished(number)).toMatchObject({ status: 'succeeded', reason: 'exit' })
  expect((await fixture.timeline(number)).map(step => step.step_id)).toEqual(['a', 'out'])
})

test('a delay suspends the run until its stored deadline', async () => {
  const { number } = await fixture.start([{ id: 'wait', type: 'delay', duration: 'P1M' }, branch('after')])
  const suspended = await fixture.suspended(number)
  expect(suspended).toMatchObject({ status: 'waiting', current_step: 'wait' })
  const [step] = await fixture.timeline(number)
  const deadline = new Date(step!.started_at)
  deadline.setUTCMonth(deadline.getUTCMonth() + 1)
  expect(step).toMatchObject({ status: 'waiting', due_at: deadline.toISOString().replace('.000', '') })
  expect(suspended.due_at).toBe(step!.due_at)
  await fixture.advance(31 * 86_400)
  expect(await fixture.finished(number)).toMatchObject({ status: 'succeeded' })
  expect((await fixture.timeline(number))[0]).toMatchObject({ status: 'succeeded', result: { due_at: step!.due_at }, due_at: step!.due_at })
})
