import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../domain/automation-runs/definition.ts'
import { endRuns, recordSteps, type StepRow, suspendRuns } from '../../domain/automation-runs/record.ts'
import { repairOrphans } from '../../domain/reconciliation/orphans.ts'
import { automationHandler } from '../../workflows/automation/handler.ts'
import type { Effects } from '../../workflows/automation/step-kind.ts'
import type { Signals } from '../../workflows/engine/handler.ts'
import { type AutomationBench, automationBench, NO_EFFECTS } from '../harness/automation-runs.ts'
import { claimByHand } from '../harness/batches.ts'
import { claimNothing } from '../harness/consume.ts'
import { until } from '../harness/until.ts'

let bench: AutomationBench
beforeAll(async () => {
  bench = await automationBench()
})
afterAll(() => bench.drop())

const mail: Step = { id: 'mail', type: 'email', subject: 'a', text: 'b' }
const after: Step = { id: 'after', type: 'branch', conditions: [], then: [], else: [] }
const held = (): Signals => ({
  claimOnInsert: claimNothing,
  lease: new AbortController().signal,
  isHeld: () => true,
  stopping: new AbortController().signal,
  halt: new AbortController().signal,
})
const handler = (effects: Partial<Effects> = {}) => automationHandler({ pool: bench.pool, effects: { ...NO_EFFECTS, ...effects } })

async function claim(number: number) {
  await bench.pool.query('update due set lease_until = null where id = $1', [number])
  const [claimed] = await claimByHand(bench.pool, 'automation-run', [number], 60_000)
  return claimed!
}

test('what a former holder records is void: neither its step nor its end lands', async () => {
  let finish = () => {}
  const slow = handler({
    sendEmail: () =>
      new Promise(resolve => {
        finish = () => resolve({ to: 'stale@example.com', message_id: null })
      }),
  })
  for (const steps of [[mail, after], [mail]]) {
    finish = () => {}
    const { number } = await bench.start(steps)
    const idle = finish
    const former = slow.handle(await claim(number), held())
    await until('the e-mail under way', () => (finish === idle ? undefined : true))
    const owner = handler({ sendEmail: async () => ({ to: 'owner@example.com', message_id: null }) })
    expect(await owner.handle(await claim(number), held())).toEqual({ is: 'succeeded' })
    finish()
    expect(await former).toEqual({ is: 'lost' })
    const timeline = await bench.timeline(number)
    expect(timeline.map(step => step.step_id)).toEqual(steps.map(step => step.id))
    expect(timeline[0]!.result).toMatchObject({ to: 'owner@example.com' })
  }
})

test('a former holder records nothing while the new one is at work, whoever writes first', async () => {
  const runs: Promise<void>[] = []
  for (let n = 0; n < 40; n++) {
    runs.push(
      (async () => {
        const { number } = await bench.start([after, { ...after, id: 'b' }, { ...after, id: 'c' }])
        const [one, two] = [handler(), handler()]
        const first = await claim(number)
        const former = one.handle(first, held())
        const second = await claim(number)
          .then(claimed => two.handle(claimed, held()))
          .catch(() => ({ is: 'gone' }))
        const outcomes = [await former, await second].map(outcome => outcome.is).sort()
        // One of them ends it, exactly once; the other finds it lost (or the promise gone).
        expect(outcomes.filter(is => is === 'succeeded')).toHaveLength(1)
        expect((await bench.timeline(number)).map(step => step.status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
      })(),
    )
  }
  await Promise.all(runs)
})

test('a lost transaction takes its effect with it', async () => {
  const { number, user } = await bench.start([{ id: 'set', type: 'set_property', key: 'tier', value: 'gold' }])
  const claimed = await claim(number)
  expect(await handler().handle({ ...claimed, fence: claimed.fence - 1 }, held())).toEqual({ is: 'lost' })
  const { rows } = await bench.pool.query('select properties from users where environment = $1 and id = $2', [bench.environment, user])
  expect(rows[0].properties).toEqual({})
})

test('a cancelled run is dropped by the worker that has it', async () => {
  let finish = () => {}
  const slow = handler({
    sendEmail: () =>
      new Promise(resolve => {
        finish = () => resolve({ to: 'a@example.com', message_id: null })
      }),
  })
  const { number } = await bench.start([mail, after])
  const idle = finish
  const working = slow.handle(await claim(number), held())
  await until('the e-mail under way', () => (finish === idle ? undefined : true))
  await bench.pool.query('delete from due where id = $1', [number])
  finish()
  expect(await working).toEqual({ is: 'lost' })
  expect(await bench.timeline(number)).toEqual([])
})

test('a timeline that is not of the pinned version fails the run loudly', async () => {
  const { number } = await bench.start([mail, after])
  await bench.pool.query(
    `insert into automation_steps (run, n, step_id, type, status, started_at) values ($1, 0, 'other', 'branch', 'succeeded', now())`,
    [number],
  )
  await claim(number)
  const outcome = await handler().handle(await claim(number), held())
  expect(outcome).toMatchObject({ is: 'failed', why: expect.stringContaining('recorded as "other"') })
  expect(await bench.run(number)).toMatchObject({ status: 'failed', reason: 'step_mismatch' })
})

test('a run whose lost promise was mended goes on where it was: what it has done is not done again', async () => {
  const { number } = await bench.start([mail, after])
  const sent: string[] = []
  const stopping = new AbortController()
  const sending = automationHandler({
    pool: bench.pool,
    effects: {
      ...NO_EFFECTS,
      sendEmail: async (_environment, { key }) => {
        sent.push(key)
        return { to: 'a@example.com', message_id: null }
      },
    },
    at: point => {
      if (point === 'recorded') stopping.abort()
    },
  })
  expect(await sending.handle(await claim(number), { ...held(), stopping: stopping.signal })).toEqual({ is: 'interrupted' })
  await bench.pool.query('delete from due where id = $1', [number])
  await repairOrphans(bench.pool, new Map(), 1000)
  expect(await sending.handle(await claim(number), held())).toEqual({ is: 'succeeded' })
  expect(sent).toHaveLength(1)
})

test('a record that waited for a takeover finds that the run is no longer its own', async () => {
  const row = {
    n: 0,
    step_id: 'after',
    type: 'branch',
    status: 'succeeded',
    reason: null,
    due_at: null,
    result: null,
    attempts: [],
  } as const
  const began = new Date().toISOString()
  const step: StepRow = { ...row, attempts: [], started_at: began, hasBegun: false }
  type Mine = { number: number; fence: number }
  const records = [
    (mine: Mine) => recordSteps(bench.pool, [{ ...mine, step }]),
    (mine: Mine) => suspendRuns(bench.pool, [{ ...mine, step, status: 'waiting', wakeAt: began, waitSeconds: 0, began }]),
    (mine: Mine) => endRuns(bench.pool, [{ ...mine, step, status: 'succeeded', reason: null, began }]),
  ]
  for (const record of records) {
    const { number } = await bench.start([after])
    const { fence } = await claim(number)
    const taking = await bench.pool.connect()
    await taking.query('begin')
    await taking.query('update due set fence = fence + 1 where id = $1', [number])
    const recorded = record({ number, fence })
    await until('the record waits', async () => {
      const { rowCount } = await bench.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount! > 0 || undefined
    })
    await taking.query('commit')
    taking.release()
    expect(await recorded).toEqual([null])
    expect(await bench.timeline(number)).toEqual([])
    expect(await bench.run(number)).toMatchObject({ status: 'pending', finished_at: null })
    expect((await bench.pool.query('select lease_until is not null as held from due where id = $1', [number])).rows).toEqual([
      { held: true },
    ])
  }
})
