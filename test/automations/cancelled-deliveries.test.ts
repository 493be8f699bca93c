import { afterAll, beforeAll, expect, test } from 'vitest'
import { CANCEL_DUE, cancelLater, cancelMore } from '../../domain/automations/automation-runs/cancel.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Hook, hook } from '../harness/integrations.ts'
import { HANG } from '../harness/receiver.ts'
import { unique } from '../harness/resource-makers.ts'
import { until } from '../harness/until.ts'
import { type AutomationProject, automationProject, on } from './fixture.ts'

let api: TestApi
let project: AutomationProject
let receiver: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  project = await automationProject(api)
  receiver = await hook({ call: project.call })
})
afterAll(async () => {
  await api.stop()
  await receiver.receiver.close()
})

/** An automation and a run of it whose webhook step has a delivery in this status. */
async function sending(status: 'retrying' | 'held') {
  receiver.receiver.otherwise = { status: 503 }
  await receiver.status(status === 'held' ? 0 : 1)
  const steps = [{ id: 'hook', type: 'webhook', integration_id: receiver.id }]
  const event = unique('sent')
  const automation = await project.automation({ initiators: on(event), steps })
  await project.post([{ event_name: event, customer_uid: await project.user() }])
  const delivery = () =>
    until(
      `a delivery that is ${status}`,
      async () => {
        const [run] = await project.runs(automation.id)
        const found = run && (await receiver.deliveries()).find(({ run_id }) => run_id === run.id)
        return found?.status === status && run.status === 'waiting' ? { ...found, run: run.id } : undefined
      },
      20_000,
    )
  return { automation, ...(await delivery()) }
}
/** The requests of the automation's runs: the receiver gets the probes of its own starts as well. */
const requestsOf = (automation: string) =>
  receiver.receiver.events().filter(({ body }) => (body.automation as { id?: string } | undefined)?.id === automation)
const shown = async (id: string) => (await receiver.deliveries()).find(delivery => delivery.id === id)
const jobs = async (id: string) =>
  (await api.pool.query(`select 1 from due d join deliveries v on v.number = d.id where d.kind = 'delivery' and v.id = $1`, [id])).rowCount
const ledger = async () => {
  const { data } = (await project.call('GET', '/v4/ledger')).body
  return data.find(({ kind }: { kind: string }) => kind === 'deliveries')
}

test.each([
  ['cancelling the run', 'retrying', (_: string, run: string) => project.call('POST', `/v4/automation-runs/${run}/cancel`)],
  ['setting its automation inactive', 'held', (automation: string) => project.setStatus(automation, 'inactive')],
  ['deleting its automation', 'retrying', (automation: string) => project.call('DELETE', `/v4/automations/${automation}`)],
] as const)('%s ends its %s delivery', async (_what, status, cancel) => {
  const { automation, id, run, attempts } = await sending(status)
  const before = await ledger()
  expect((await cancel(automation.id, run)).status).toBeLessThan(300)
  expect(await shown(id)).toMatchObject({ status: 'failed', reason: 'run_cancelled', next_attempt_at: null, attempts })
  expect((await project.call('GET', `/v4/automation-runs/${run}`)).body).toMatchObject({ status: 'cancelled', current_step: null })
  expect(await jobs(id)).toBe(0)
  const after = await ledger()
  expect([after.declined - before.declined, after.outstanding - before.outstanding, after.broken - before.broken]).toEqual([1, -1, 0])

  // What would send it again: the integration's start, and the replay of failed deliveries.
  const sent = requestsOf(automation.id).length
  await receiver.status(0)
  await receiver.status(1)
  const day = 24 * 3600 * 1000
  const now = Date.now()
  const replay = { from: new Date(now - day).toISOString(), to: new Date(now + day).toISOString() }
  expect((await project.call('POST', `/v4/integrations/${receiver.id}/replay`, { body: replay })).body.matched).toBe(0)
  expect(await shown(id)).toMatchObject({ status: 'failed', reason: 'run_cancelled' })
  expect(requestsOf(automation.id)).toHaveLength(sent)
})

test('a request that is under way at the cancellation records nothing', async () => {
  receiver.receiver.otherwise = HANG
  const automation = await project.automation({
    initiators: on('hanging'),
    steps: [{ id: 'hook', type: 'webhook', integration_id: receiver.id }],
  })
  await project.post([{ event_name: 'hanging', customer_uid: await project.user() }])
  await until('the request', () => requestsOf(automation.id).length > 0 || undefined)
  await project.setStatus(automation.id, 'inactive')
  const [run] = await project.runs(automation.id)
  const { id } = (await receiver.deliveries()).find(({ run_id }) => run_id === run.id)
  expect(await shown(id)).toMatchObject({ status: 'failed', reason: 'run_cancelled', attempt_count: 0 })
})

test('a delivery whose run a later step of the cancellation reaches is not sent any more', async () => {
  const { automation, id, run } = await sending('retrying')
  await transaction(api.pool, tx => cancelLater(tx, project.environment, automation.id, 'automation_inactive'))
  // The bounded steps are held up: the delivery is due before they come.
  await api.pool.query('delete from due where kind = $1', [CANCEL_DUE])
  const sent = requestsOf(automation.id).length
  await api.pool.query(
    `update due set due_at = environment_now(environment) where kind = 'delivery' and id = (select number from deliveries where id = $1)`,
    [id],
  )
  await until('the end of the delivery', async () => (await shown(id)).status === 'failed' || undefined)
  expect(await shown(id)).toMatchObject({ reason: 'run_cancelled', attempt_count: 1 })
  expect(requestsOf(automation.id)).toHaveLength(sent)
  const { rows } = await api.pool.query('select number from automation_cancellations where automation_id = $1', [automation.id])
  for (const { number } of rows) await cancelMore(api.pool, number)
  expect((await project.call('GET', `/v4/automation-runs/${run}`)).body).toMatchObject({
    status: 'cancelled',
    reason: 'automation_inactive',
  })
})
