import { afterAll, beforeAll, expect, test } from 'vitest'
import { CANCEL_DUE, cancelLater, cancelMore } from '../../../domain/automations/automation-runs/cancel.ts'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { changeAutomationStatus } from '../../../domain/automations/status.ts'
import { repairOrphans } from '../../../domain/oversight/reconciliation/orphans.ts'
import { transaction } from '../../../store/transaction.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'
import { insertUnchecked } from '../../harness/unchecked.ts'

// One automation has more runs than one statement cancels. No worker cancels the rest: the tests do.
let fixture: AutomationFixture
let sending: () => void
let mayFinish: Promise<void>
beforeAll(async () => {
  fixture = await automationFixture()
  const sendEmail = async () => {
    sending()
    await mayFinish
    return { to: 'ann@example.com', message_id: null }
  }
  await fixture.startWorker({ effects: { ...NO_EFFECTS, sendEmail } }, 30_000)
})
afterAll(() => fixture.drop())

const delay: Step = { id: 'wait', type: 'delay', duration: 'PT1H' }
const setTier: Step = { id: 'set', type: 'set_property', key: 'tier', value: 'gold' }
const mail: Step = { id: 'mail', type: 'email', to: 'ann@example.com', subject: 'Hi', text: 'Hi' }
const MORE = 10_001

/** Copies this run MORE times, in the status `waiting`. */
const addRuns = (number: number) =>
  insertUnchecked(
    fixture.pool,
    `with inserted as (
       insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition, log_offset,
         position, status, due_at, created_at)
       select environment, 'run_' || automation_id || n, automation_id, version, null, 'evt_' || n, event_name, happened_at, received_at, partition, log_offset,
         position, 'waiting', now() + interval '9 days', created_at
       from automation_runs, generate_series(1, $2::int) n where number = $1 returning number, environment, due_at)
     insert into due (kind, id, environment, due_at) select 'automation-run', number, environment, due_at from inserted`,
    [number, MORE],
  )
const statuses = async (automation: string): Promise<Record<string, number>> => {
  const { rows } = await fixture.pool.query(
    `select coalesce(reason || ' ', '') || status as status, count(*)::int as n from automation_runs where automation_id = $1 group by 1 order by 1`,
    [automation],
  )
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
}
const cancellations = async (): Promise<number[]> =>
  (await fixture.pool.query<{ id: number }>('select id from due where kind = $1 order by id', [CANCEL_DUE])).rows.map(({ id }) => id)
const setStatus = (automation: string, status: 'active' | 'inactive') =>
  transaction(fixture.pool, tx => changeAutomationStatus(tx, fixture.environment, automation, status))
const properties = async (user: string) =>
  (await fixture.pool.query('select properties from users where id = $1', [user])).rows[0].properties

test('an automation with very many runs that becomes inactive cancels all of them in steps, and no run that starts later', async () => {
  const { number, automation, user } = await fixture.start([delay, setTier])
  await fixture.suspended(number)
  await addRuns(number)
  await setStatus(automation, 'inactive')
  expect(await statuses(automation)).toEqual({ 'automation_inactive cancelled': 10_000, waiting: 2 })
  const [cancellation] = await cancellations()
  await setStatus(automation, 'active')
  const later = await fixture.start([], { automation, user })
  await fixture.suspended(later.number)

  // A worker executes one of these runs before the cancellation reaches it.
  const rest = await fixture.pool.query<{ number: number }>(
    `select number from automation_runs where automation_id = $1 and status = 'waiting' and number < $2 order by number`,
    [automation, later.number],
  )
  await fixture.pool.query(`update due set due_at = environment_now(environment) where kind = 'automation-run' and id = $1`, [
    rest.rows[0]!.number,
  ])
  expect(await fixture.finished(rest.rows[0]!.number)).toMatchObject({ status: 'cancelled', reason: 'automation_inactive' })
  expect(await fixture.timeline(rest.rows[0]!.number)).not.toContainEqual(expect.objectContaining({ status: 'succeeded' }))

  expect(await repairOrphans(fixture.pool, new Map(), 100)).toEqual([])
  for (let rounds = 0; (await cancellations()).length > 0; rounds++) {
    expect(rounds).toBeLessThan(5)
    await cancelMore(fixture.pool, cancellation!)
  }
  expect(await statuses(automation)).toEqual({ 'automation_inactive cancelled': MORE + 1, waiting: 1 })
  expect((await fixture.run(later.number)).status).toBe('waiting')
  expect(await properties(user)).toEqual({})
})

test.each([
  'automation_inactive',
  'automation_deleted',
] as const)('a run that a worker executes at its cancellation starts no further step: %s', async reason => {
  const started = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  sending = started.resolve
  mayFinish = released.promise
  const { number, automation, user } = await fixture.start([mail, setTier])
  await started.promise
  // The run is one of those that a later step cancels.
  await transaction(fixture.pool, async tx => {
    await cancelLater(tx, fixture.environment, automation, reason)
    if (reason === 'automation_deleted') await tx.query('delete from automations where id = $1', [automation])
  })
  released.resolve()
  expect(await fixture.finished(number)).toMatchObject({ status: 'cancelled', reason })
  expect(await fixture.timeline(number)).toMatchObject([{ step_id: 'mail', status: 'succeeded' }])
  expect(await properties(user)).toEqual({})
  for (const id of await cancellations()) await cancelMore(fixture.pool, id)
  expect(await cancellations()).toEqual([])
})

test('a cancellation whose due row is lost gets a new due row', async () => {
  const { number, automation } = await fixture.start([delay])
  await fixture.suspended(number)
  await addRuns(number)
  await setStatus(automation, 'inactive')
  const before = await cancellations()
  await fixture.pool.query('delete from due where kind = $1', [CANCEL_DUE])
  expect(await repairOrphans(fixture.pool, new Map(), 100)).toEqual([{ kind: CANCEL_DUE, ids: before, mended: 1 }])
  expect(await cancellations()).toEqual(before)
})
