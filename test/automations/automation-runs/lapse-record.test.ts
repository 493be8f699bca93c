import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { UNRECORDED } from '../../../domain/durable/jobs/lapse.ts'
import { automationHandler } from '../../../workflows/automation/handler.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'
import { claimByHand } from '../../harness/batches.ts'
import { liveLease } from '../../harness/live-lease.ts'

// A worker that fails, or ends, while it records the attempt of a former one: that attempt is not forgotten.
let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
})
afterAll(() => fixture.drop())

const mail: Step = { id: 'mail', type: 'email', subject: 'a', text: 'b' }
const LAPSED = '2026-01-02T03:04:05Z'

async function claim(number: number) {
  await fixture.pool.query('update due set lease_until = null, lapsed_at = coalesce(lapsed_at, $2) where id = $1', [number, LAPSED])
  const [claimed] = await claimByHand(fixture.pool, 'automation-run', [number], 60_000)
  return claimed!
}

test('the lapse is forgotten with its record, and not before', async () => {
  const { number } = await fixture.start([mail])
  const sent: string[] = []
  const handler = automationHandler({
    pool: fixture.pool,
    effects: { ...NO_EFFECTS, sendEmail: async () => ({ to: 'a@example.com', message_id: String(sent.push('mail')) }) },
  })
  await fixture.pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the worker ends here'; end $$`,
  )
  await fixture.pool.query('create trigger ends before insert on automation_steps for each row execute function refuse()')
  await expect(handler.handle(await claim(number), liveLease())).rejects.toThrow('the worker ends here')
  await fixture.pool.query('drop trigger ends on automation_steps')
  expect(sent).toEqual([])
  const { rows } = await fixture.pool.query<{ lapsed_at: string | null }>('select lapsed_at from due where id = $1', [number])
  expect(rows[0]!.lapsed_at).toBe(LAPSED)
  expect(await handler.handle(await claim(number), liveLease())).toEqual({ is: 'succeeded' })
  expect((await fixture.timeline(number))[0]!.attempts).toMatchObject([
    { number: 1, duration_ms: null, error: UNRECORDED },
    { number: 2, error: null },
  ])
  expect(sent).toEqual(['mail'])
})
