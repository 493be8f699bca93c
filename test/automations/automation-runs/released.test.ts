import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelMore } from '../../../domain/automations/automation-runs/cancel.ts'
import { RUN_RELEASE_DUE, releaseMoreRuns } from '../../../domain/automations/automation-runs/release.ts'
import { changeAutomationStatus } from '../../../domain/automations/status.ts'
import { repairOrphans } from '../../../domain/oversight/reconciliation/orphans.ts'
import { transaction } from '../../../store/transaction.ts'
import { type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'
import { insertUnchecked } from '../../harness/unchecked.ts'
import { until } from '../../harness/until.ts'

// A paused automation has more parked runs than one transaction releases. No worker releases the rest: the tests do.
let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
})
afterAll(() => fixture.drop())

const PARKED = 25_000

/** A paused automation with parked runs: each is due a second after the one before, its job in 30 days. */
async function parked() {
  const { number, automation } = await fixture.start([{ id: 'wait', type: 'delay', duration: 'PT1H' }])
  await fixture.pool.query(`update automations set status = 'paused' where id = $1`, [automation])
  await fixture.pool.query(
    `with run as (update automation_runs set due_at = now() + interval '1 day' where number = $1 returning due_at)
     update due d set due_at = run.due_at + interval '30 days' from run where d.kind = 'automation-run' and d.id = $1`,
    [number],
  )
  await insertUnchecked(
    fixture.pool,
    `with inserted as (
       insert into automation_runs (environment, id, automation_id, version, event_id, event_name, happened_at, received_at, partition, log_offset,
         position, status, due_at, created_at)
       select environment, 'run_' || automation_id || n, automation_id, version, 'evt_' || n, event_name, happened_at, received_at, partition,
         log_offset, position, 'waiting', now() + interval '1 day' + make_interval(secs => n), created_at
       from automation_runs, generate_series(2, $2::int) n where number = $1 returning number, environment, due_at)
     insert into due (kind, id, environment, due_at) select 'automation-run', number, environment, due_at + interval '30 days' from inserted`,
    [number, PARKED],
  )
  return automation
}
const setStatus = (automation: string, status: 'active' | 'paused' | 'inactive') =>
  transaction(fixture.pool, tx => changeAutomationStatus(tx, fixture.environment, automation, status))
/** Runs whose job is due at the time of the run. */
const released = async (automation: string): Promise<number> =>
  (
    await fixture.pool.query(
      `select count(*)::int as n from automation_runs r join due d on d.kind = 'automation-run' and d.id = r.number
       where r.automation_id = $1 and d.due_at = r.due_at`,
      [automation],
    )
  ).rows[0].n
const releases = async (): Promise<number[]> =>
  (await fixture.pool.query<{ id: number }>('select id from due where kind = $1', [RUN_RELEASE_DUE])).rows.map(({ id }) => id)

test('very many parked runs are released in steps, each at its own time, and a lost step is found', async () => {
  const automation = await parked()
  await setStatus(automation, 'active')
  expect(await released(automation)).toBe(10_000)
  const [release] = await releases()
  await fixture.pool.query('delete from due where kind = $1', [RUN_RELEASE_DUE])
  expect(await repairOrphans(fixture.pool, new Map(), 100)).toEqual([{ kind: RUN_RELEASE_DUE, ids: [release], mended: 1 }])
  await releaseMoreRuns(fixture.pool, release!)
  expect(await released(automation)).toBe(20_000)
  await releaseMoreRuns(fixture.pool, release!)
  expect(await released(automation)).toBe(PARKED)
  expect(await releases()).toEqual([])
  expect((await fixture.pool.query('select 1 from automation_releases')).rowCount).toBe(0)
})

test('a release ends when the automation is paused again, and the next activation begins anew', async () => {
  const automation = await parked()
  await setStatus(automation, 'active')
  await setStatus(automation, 'paused')
  for (const id of await releases()) await releaseMoreRuns(fixture.pool, id)
  expect([await released(automation), await releases()]).toEqual([10_000, []])
  await setStatus(automation, 'active')
  // Paused and active again before a step of the former release: there is one release, from the beginning.
  await setStatus(automation, 'paused')
  await setStatus(automation, 'active')
  expect(await releases()).toHaveLength(1)
  for (let steps = 0; (await releases()).length > 0; steps++) {
    expect(steps).toBeLessThan(4)
    await releaseMoreRuns(fixture.pool, (await releases())[0]!)
  }
  expect(await released(automation)).toBe(PARKED)
})

test('a step of a former release that meets an activation does not end the release', async () => {
  const automation = await parked()
  await setStatus(automation, 'active')
  await setStatus(automation, 'paused')
  const [release] = await releases()
  let step: Promise<unknown> | undefined
  await transaction(fixture.pool, async tx => {
    await changeAutomationStatus(tx, fixture.environment, automation, 'active')
    step = releaseMoreRuns(fixture.pool, release!)
    await until('the step waits', async () => {
      const { rowCount } = await fixture.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount === 1 || undefined
    })
  })
  await step
  expect(await released(automation)).toBe(20_000)
  for (const id of await releases()) await releaseMoreRuns(fixture.pool, id)
  expect([await released(automation), await releases()]).toEqual([PARKED, []])
})

test('a release of an automation that was set inactive meanwhile releases nothing', async () => {
  const automation = await parked()
  await setStatus(automation, 'active')
  await setStatus(automation, 'inactive')
  const [release] = await releases()
  await releaseMoreRuns(fixture.pool, release!)
  expect(await releases()).toEqual([])
  const { rows } = await fixture.pool.query('select number from automation_cancellations where automation_id = $1', [automation])
  for (let n = 0; n < 3; n++) await cancelMore(fixture.pool, rows[0].number)
  const { rowCount } = await fixture.pool.query(`select 1 from automation_runs where automation_id = $1 and status <> 'cancelled'`, [
    automation,
  ])
  expect(rowCount).toBe(0)
})
