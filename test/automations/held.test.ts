import { afterAll, beforeAll, expect, test } from 'vitest'
import { parkRun } from '../../domain/automations/automation-runs/park.ts'
import { readDrift } from '../../domain/oversight/reconciliation/drift.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { claimByHand } from '../harness/batches.ts'
import { type AutomationProject, automationProject } from './fixture.ts'

// No worker: nobody takes what is due.
let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
  fixture = await automationProject(api)
})
afterAll(() => api.stop())

const inLedger = async () => {
  const { data } = (await fixture.call('GET', '/v4/ledger')).body
  const { overdue, outstanding } = data.find(({ kind }: { kind: string }) => kind === 'automation_runs')
  return { overdue, outstanding }
}
const late = async () => (await readDrift(api.pool)).late.find(({ kind }) => kind === 'automation-run')?.overdue ?? 0

test('a run that a paused automation holds is not overdue, and is overdue when the automation is active again', async () => {
  const automation = await fixture.automation()
  await fixture.post([{ event_name: 'go', customer_uid: await fixture.user() }])
  await fixture.read()
  await fixture.setStatus(automation.id, 'paused')
  await fixture.advance(120)
  expect([await late(), await inLedger()]).toEqual([0, { overdue: 0, outstanding: 1 }])
  const ready = await fetch(`${api.url}/readyz`)
  expect(await ready.json()).toMatchObject({ status: 'ok', overdue: 0, overdue_by_kind: {} })
  expect(await (await fetch(`${api.url}/metrics`)).text()).not.toMatch(/perennial_overdue\{.*automation-run.*\} [1-9]/)

  await fixture.setStatus(automation.id, 'active')
  expect([await late(), await inLedger()]).toEqual([1, { overdue: 1, outstanding: 1 }])
})

test('a run that is held before its first step is shown as pending', async () => {
  const automation = await fixture.automation()
  await fixture.post([{ event_name: 'go', customer_uid: await fixture.user() }])
  await fixture.read()
  await fixture.setStatus(automation.id, 'paused')
  const { rows } = await api.pool.query('select * from automation_runs where automation_id = $1', [automation.id])
  const [job] = await claimByHand(api.pool, 'automation-run', [rows[0].number], 60_000)
  expect((await fixture.runs(automation.id))[0].status).toBe('running')
  expect(await parkRun(api.pool, { ...rows[0], fence: job!.fence })).toBe(true)
  expect((await fixture.runs(automation.id))[0].status).toBe('pending')
  expect(await fixture.runs(automation.id, '&filter[status][]=pending')).toHaveLength(1)
})
