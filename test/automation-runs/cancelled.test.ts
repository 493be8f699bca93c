import { afterAll, beforeAll, expect, test } from 'vitest'
import { CANCEL_DUE, cancelLater, cancelMore } from '../../domain/automation-runs/cancel.ts'
import type { Step } from '../../domain/automation-runs/definition.ts'
import { changeAutomationStatus } from '../../domain/automations/status.ts'
import { repairOrphans } from '../../domain/reconciliation/orphans.ts'
import { transaction } from '../../store/transaction.ts'
import { type AutomationBench, automationBench, NO_EFFECTS } from '../harness/automation-runs.ts'

// More runs of one automation than are cancelled at once; nobody goes on with the rest unless told.
let bench: AutomationBench
let sending: () => void
let letGo: Promise<void>
beforeAll(async () => {
  bench = await automationBench()
  const sendEmail = async () => {
    sending()
    await letGo
    return { to: 'ann@example.com', message_id: null }
  }
  await bench.turn({ effects: { ...NO_EFFECTS, sendEmail } }, 30_000)
})
afterAll(() => bench.drop())

const delay: Step = { id: 'wait', type: 'delay', duration: 'PT1H' }
const setTier: Step = { id: 'set', type: 'set_property', key: 'tier', value: 'gold' }
const mail: Step = { id: 'mail', type: 'email', to: 'ann@example.com', subject: 'Hi', text: 'Hi' }
const MORE = 10_001

/** More runs like this one, which wait as well. */
const addRuns = (number: number) =>
  bench.pool.query(
    `with made as (
       insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition, log_offset,
         position, status, due_at, created_at)
       select environment, 'run_' || automation_id || n, automation_id, version, null, 'evt_' || n, event_name, happened_at, received_at, partition, log_offset,
         position, 'waiting', now() + interval '9 days', created_at
       from automation_runs, generate_series(1, $2::int) n where number = $1 returning number, environment, due_at)
     insert into due (kind, id, environment, due_at) select 'automation-run', number, environment, due_at from made`,
    [number, MORE],
  )
const statuses = async (automation: string): Promise<Record<string, number>> => {
  const { rows } = await bench.pool.query(
    `select coalesce(reason || ' ', '') || status as status, count(*)::int as n from automation_runs where automation_id = $1 group by 1 order by 1`,
    [automation],
  )
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
}
const cancellations = async (): Promise<number[]> =>
  (await bench.pool.query<{ id: number }>('select id from due where kind = $1 order by id', [CANCEL_DUE])).rows.map(({ id }) => id)
const setStatus = (automation: string, status: 'active' | 'inactive') =>
  transaction(bench.pool, tx => changeAutomationStatus(tx, bench.environment, automation, status))
const properties = async (user: string) => (await bench.pool.query('select properties from users where id = $1', [user])).rows[0].properties

test('set inactive with very many runs, an automation cancels them all, in steps, and none that starts later', async () => {
  const { number, automation, user } = await bench.start([delay, setTier])
  await bench.resting(number)
  await addRuns(number)
  await setStatus(automation, 'inactive')
  expect(await statuses(automation)).toEqual({ 'automation_inactive cancelled': 10_000, waiting: 2 })
  const [cancellation] = await cancellations()
  await setStatus(automation, 'active')
  const later = await bench.start([], { automation, user })
  await bench.resting(later.number)

  // Which a worker comes to before it has been cancelled.
  const rest = await bench.pool.query<{ number: number }>(
    `select number from automation_runs where automation_id = $1 and status = 'waiting' and number < $2 order by number`,
    [automation, later.number],
  )
  await bench.pool.query(`update due set due_at = environment_now(environment) where kind = 'automation-run' and id = $1`, [
    rest.rows[0]!.number,
  ])
  expect(await bench.over(rest.rows[0]!.number)).toMatchObject({ status: 'cancelled', reason: 'automation_inactive' })
  expect(await bench.timeline(rest.rows[0]!.number)).not.toContainEqual(expect.objectContaining({ status: 'succeeded' }))

  expect(await repairOrphans(bench.pool, new Map(), 100)).toEqual([])
  for (let turns = 0; (await cancellations()).length > 0; turns++) {
    expect(turns).toBeLessThan(5)
    await cancelMore(bench.pool, cancellation!)
  }
  expect(await statuses(automation)).toEqual({ 'automation_inactive cancelled': MORE + 1, waiting: 1 })
  expect((await bench.run(later.number)).status).toBe('waiting')
  expect(await properties(user)).toEqual({})
})

test.each(['automation_inactive', 'automation_deleted'] as const)('a run in hand performs no further step: %s', async reason => {
  const started = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  sending = started.resolve
  letGo = released.promise
  const { number, automation, user } = await bench.start([mail, setTier])
  await started.promise
  // One of those that are left to later.
  await transaction(bench.pool, async tx => {
    await cancelLater(tx, bench.environment, automation, reason)
    if (reason === 'automation_deleted') await tx.query('delete from automations where id = $1', [automation])
  })
  released.resolve()
  expect(await bench.over(number)).toMatchObject({ status: 'cancelled', reason })
  expect(await bench.timeline(number)).toMatchObject([{ step_id: 'mail', status: 'succeeded' }])
  expect(await properties(user)).toEqual({})
  for (const id of await cancellations()) await cancelMore(bench.pool, id)
  expect(await cancellations()).toEqual([])
})

test('a cancellation whose promise is lost is promised again', async () => {
  const { number, automation } = await bench.start([delay])
  await bench.resting(number)
  await addRuns(number)
  await setStatus(automation, 'inactive')
  const before = await cancellations()
  await bench.pool.query('delete from due where kind = $1', [CANCEL_DUE])
  expect(await repairOrphans(bench.pool, new Map(), 100)).toEqual([{ kind: CANCEL_DUE, ids: before, mended: 1 }])
  expect(await cancellations()).toEqual(before)
})
