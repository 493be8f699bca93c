import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { endRuns, recordSteps, type StepRow, suspendRuns } from '../../../domain/automations/automation-runs/record.ts'
import { repairOrphans } from '../../../domain/oversight/reconciliation/orphans.ts'
import { automationHandler } from '../../../workflows/automation/handler.ts'
import type { Effects } from '../../../workflows/automation/step-kind.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'
import { claimByHand } from '../../harness/batches.ts'
import { liveLease } from '../../harness/live-lease.ts'
import { until } from '../../harness/until.ts'

let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
})
afterAll(() => fixture.drop())

const mail: Step = { id: 'mail', type: 'email', subject: 'a', text: 'b' }
const after: Step = { id: 'after', type: 'branch', conditions: [], then: [], else: [] }
const handler = (effects: Partial<Effects> = {}) => automationHandler({ pool: fixture.pool, effects: { ...NO_EFFECTS, ...effects } })

async function claim(number: number) {
  await fixture.pool.query('update due set lease_until = null where id = $1', [number])
  const [claimed] = await claimByHand(fixture.pool, 'automation-run', [number], 60_000)
  return claimed!
}

test('a worker that lost its lease cannot record a step or the end of the run', async () => {
  let finish = () => {}
  const slow = handler({
    sendEmail: () =>
      new Promise(resolve => {
        finish = () => resolve({ to: 'stale@example.com', message_id: null })
      }),
  })
  for (const steps of [[mail, after], [mail]]) {
    finish = () => {}
    const { number } = await fixture.start(steps)
    const idle = finish
    const former = slow.handle(await claim(number), liveLease())
    await until('the e-mail under way', () => (finish === idle ? undefined : true))
    const owner = handler({ sendEmail: async () => ({ to: 'owner@example.com', message_id: null }) })
    expect(await owner.handle(await claim(number), liveLease())).toEqual({ is: 'succeeded' })
    finish()
    expect(await former).toEqual({ is: 'lost' })
    const timeline = await fixture.timeline(number)
    expect(timeline.map(step => step.step_id)).toEqual(steps.map(step => step.id))
    expect(timeline[0]!.result).toMatchObject({ to: 'owner@example.com' })
  }
})

test('a worker that lost its lease records nothing beside the new worker, whichever of the two writes first', async () => {
  const runs: Promise<void>[] = []
  for (let n = 0; n < 40; n++) {
    runs.push(
      (async () => {
        const { number } = await fixture.start([after, { ...after, id: 'b' }, { ...after, id: 'c' }])
        const [one, two] = [handler(), handler()]
        const first = await claim(number)
        const former = one.handle(first, liveLease())
        const second = await claim(number)
          .then(claimed => two.handle(claimed, liveLease()))
          .catch(() => ({ is: 'gone' }))
        const outcomes = [await former, await second].map(outcome => outcome.is).sort()
        // One worker ends the run, exactly once. The other loses its lease, or finds the due row gone.
        expect(outcomes.filter(is => is === 'succeeded')).toHaveLength(1)
        expect((await fixture.timeline(number)).map(step => step.status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
      })(),
    )
  }
  await Promise.all(runs)
})

test('a step whose fence is outdated rolls back its effect', async () => {
  const { number, user } = await fixture.start([{ id: 'set', type: 'set_property', key: 'tier', value: 'gold' }])
  const claimed = await claim(number)
  expect(await handler().handle({ ...claimed, fence: claimed.fence - 1 }, liveLease())).toEqual({ is: 'lost' })
  const { rows } = await fixture.pool.query('select properties from users where environment = $1 and id = $2', [fixture.environment, user])
  expect(rows[0].properties).toEqual({})
})

test('a worker stops executing a run that is cancelled', async () => {
  let finish = () => {}
  const slow = handler({
    sendEmail: () =>
      new Promise(resolve => {
        finish = () => resolve({ to: 'a@example.com', message_id: null })
      }),
  })
  const { number } = await fixture.start([mail, after])
  const idle = finish
  const working = slow.handle(await claim(number), liveLease())
  await until('the e-mail under way', () => (finish === idle ? undefined : true))
  await fixture.pool.query('delete from due where id = $1', [number])
  finish()
  expect(await working).toEqual({ is: 'lost' })
  expect(await fixture.timeline(number)).toEqual([])
})

test('a timeline that differs from the pinned version fails the run', async () => {
  const { number } = await fixture.start([mail, after])
  await fixture.pool.query(
    `insert into automation_steps (run, n, step_id, type, status, started_at) values ($1, 0, 'other', 'branch', 'succeeded', now())`,
    [number],
  )
  await claim(number)
  const outcome = await handler().handle(await claim(number), liveLease())
  expect(outcome).toMatchObject({ is: 'failed', why: expect.stringContaining('recorded as "other"') })
  expect(await fixture.run(number)).toMatchObject({ status: 'failed', reason: 'step_mismatch' })
})

test('a run whose lost due row was restored continues after its last recorded step', async () => {
  const { number } = await fixture.start([mail, after])
  const sent: string[] = []
  const stopping = new AbortController()
  const sending = automationHandler({
    pool: fixture.pool,
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
  expect(await sending.handle(await claim(number), { ...liveLease(), stopping: stopping.signal })).toEqual({ is: 'interrupted' })
  await fixture.pool.query('delete from due where id = $1', [number])
  await repairOrphans(fixture.pool, new Map(), 1000)
  expect(await sending.handle(await claim(number), liveLease())).toEqual({ is: 'succeeded' })
  expect(sent).toHaveLength(1)
})

test('a statement that waited for the claim of another worker records nothing', async () => {
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
  type Claim = { number: number; fence: number }
  const records = [
    (claim: Claim) => recordSteps(fixture.pool, [{ ...claim, step }]),
    (claim: Claim) => suspendRuns(fixture.pool, [{ ...claim, step, status: 'waiting', wakeAt: began, waitSeconds: 0, began }]),
    (claim: Claim) => endRuns(fixture.pool, [{ ...claim, step, status: 'succeeded', reason: null, began }]),
  ]
  for (const record of records) {
    const { number } = await fixture.start([after])
    const { fence } = await claim(number)
    const claiming = await fixture.pool.connect()
    await claiming.query('begin')
    await claiming.query('update due set fence = fence + 1 where id = $1', [number])
    const recorded = record({ number, fence })
    await until('the blocked statement', async () => {
      const { rowCount } = await fixture.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount! > 0 || undefined
    })
    await claiming.query('commit')
    claiming.release()
    expect(await recorded).toEqual([null])
    expect(await fixture.timeline(number)).toEqual([])
    expect(await fixture.run(number)).toMatchObject({ status: 'pending', finished_at: null })
    expect((await fixture.pool.query('select lease_until is not null as held from due where id = $1', [number])).rows).toEqual([
      { held: true },
    ])
  }
})
