import { afterAll, beforeAll, expect, test } from 'vitest'
import { LeaseLost } from '../../domain/durable/jobs/job.ts'
import { UNRECORDED } from '../../domain/durable/jobs/lapse.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import { POLICIES } from '../../workflows/engine/policy.ts'
import type { RunContext } from '../../workflows/engine/workflow.ts'
import { claimByHand } from '../harness/batches.ts'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { liveLease } from '../harness/live-lease.ts'

// A worker that fails, or ends, while it records the attempt of a former one: that attempt is not forgotten.
let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterAll(() => fixture.drop())

const LAPSED = '2026-01-02T03:04:05Z'
const handlerOf = (run: (context: RunContext) => Promise<void>) =>
  workflowHandlers([workflow('mail', run)], { pool: fixture.pool, policies: POLICIES })[0]!
async function claim(id: number) {
  await fixture.pool.query('update due set lease_until = null where id = $1', [id])
  return (await claimByHand(fixture.pool, 'mail', [id], 60_000))[0]!
}
async function lapsed(): Promise<number> {
  const run = await fixture.begin('mail', 's')
  await fixture.pool.query('update due set lapsed_at = $2 where id = $1', [run, LAPSED])
  return run
}
const lapseOf = async (run: number) =>
  (await fixture.pool.query<{ lapsed_at: string | null }>('select lapsed_at from due where id = $1', [run])).rows[0]?.lapsed_at

test('the lapse is forgotten with its record, and not before', async () => {
  const run = await lapsed()
  let sent = 0
  const handler = handlerOf(context => context.step('send', async () => void sent++))
  await fixture.pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the worker ends here'; end $$`,
  )
  await fixture.pool.query('create trigger ends before insert on steps for each row execute function refuse()')
  await expect(handler.handle(await claim(run), liveLease())).rejects.toThrow('the worker ends here')
  await fixture.pool.query('drop trigger ends on steps')
  expect([await lapseOf(run), sent]).toEqual([LAPSED, 0])
  expect(await handler.handle(await claim(run), liveLease())).toEqual({ is: 'succeeded' })
  const { rows } = await fixture.pool.query('select attempts from steps where run = $1', [run])
  expect(rows[0].attempts).toMatchObject([
    { number: 1, duration_ms: null, error: UNRECORDED },
    { number: 2, error: null },
  ])
  expect(sent).toBe(1)
})

test('a sleep forgets it with its own record: the step after it was not begun', async () => {
  const run = await lapsed()
  const handler = handlerOf(async context => {
    await context.sleep('wait', 0)
    await context.step('send', async () => {})
  })
  expect(await handler.handle(await claim(run), liveLease())).toMatchObject({ is: 'suspended' })
  expect(await lapseOf(run)).toBeNull()
  expect(await handler.handle(await claim(run), liveLease())).toEqual({ is: 'succeeded' })
  const { rows } = await fixture.pool.query('select attempts from steps where run = $1 order by n', [run])
  expect(rows.map(({ attempts }) => attempts)).toMatchObject([[], [{ number: 1, error: null }]])
})

test('steps that are recorded, and are gone through again, do not forget it', async () => {
  const run = await lapsed()
  let isFirst = true
  const handler = handlerOf(async context => {
    await context.together(steps => steps.transact('begin', async () => {}))
    if (isFirst) throw new LeaseLost('the worker ends here')
    await context.step('send', async () => {})
  })
  expect(await handler.handle(await claim(run), liveLease())).toEqual({ is: 'lost' })
  isFirst = false
  await fixture.pool.query('update due set lapsed_at = $2 where id = $1', [run, LAPSED])
  expect(await handler.handle(await claim(run), liveLease())).toEqual({ is: 'succeeded' })
  const { rows } = await fixture.pool.query('select attempts from steps where run = $1 order by n', [run])
  expect(rows.at(-1).attempts).toMatchObject([
    { number: 1, duration_ms: null, error: UNRECORDED },
    { number: 2, error: null },
  ])
})
