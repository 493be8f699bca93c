import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject, LONG, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  fixture = await automationProject(api)
})

const count = async (text: string, values: unknown[]) => (await api.pool.query<{ count: number }>(text, values)).rows[0]!.count

/** Invariants of all runs of the environment. */
async function expectConsistent() {
  // An unfinished run has a due row, and no other row of this kind exists.
  const odd = await count(
    `select count(*)::int from automation_runs r full join (select * from due where kind = 'automation-run') d on d.id = r.number
     where coalesce(r.environment, d.environment) = $1 and (d.id is not null) <> coalesce(r.status in ('pending', 'running', 'waiting'), false)`,
    [fixture.environment],
  )
  expect(odd).toBe(0)
  // No run of an inactive or deleted automation is unfinished.
  const orphans = await count(
    `select count(*)::int from automation_runs r left join automations a on a.environment = r.environment and a.id = r.automation_id
     where r.environment = $1 and r.status in ('pending', 'running', 'waiting') and coalesce(a.status, 'inactive') = 'inactive'`,
    [fixture.environment],
  )
  expect(orphans).toBe(0)
}

test('fifty concurrent changes of status: every event has one run, or none when the automation was inactive', async () => {
  const users = await Promise.all(Array.from({ length: 8 }, () => fixture.user()))
  const always = await fixture.automation()
  const { id } = await fixture.automation()
  const statuses = ['inactive', 'active', 'paused', 'active']
  const changes = Array.from({ length: 50 }, (_, n) => fixture.setStatus(id, statuses[n % 4]!))
  const events = Array.from({ length: 25 }, () => fixture.post(users.map(customer_uid => ({ event_name: 'go', customer_uid }))))
  const reads = Array.from({ length: 25 }, () => fixture.read())
  const responses = await Promise.all(changes)
  await Promise.all([...events, ...reads])
  await fixture.read()
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([204]))
  expect(await count('select count(*)::int from automation_runs where automation_id = $1', [always.id])).toBe(200)
  expect(await count('select count(distinct event_id)::int from automation_runs where automation_id = $1', [always.id])).toBe(200)
  const own = await count('select count(*)::int from automation_runs where automation_id = $1', [id])
  expect(await count('select count(distinct event_id)::int from automation_runs where automation_id = $1', [id])).toBe(own)
  await expectConsistent()
})

test('an automation that is paused and active in turns misses no event', async () => {
  const user = await fixture.user()
  const { id } = await fixture.automation()
  await Promise.all([
    ...Array.from({ length: 50 }, (_, n) => fixture.setStatus(id, n % 2 ? 'active' : 'paused')),
    ...Array.from({ length: 40 }, () => fixture.post([{ event_name: 'go', customer_uid: user }])),
    ...Array.from({ length: 20 }, () => fixture.read()),
  ])
  await fixture.read()
  expect(await count('select count(*)::int from automation_runs where automation_id = $1', [id])).toBe(40)
  await expectConsistent()
})

test('concurrent changes of the data: every event has one run, and every change one version', async () => {
  const user = await fixture.user()
  const { id, url } = await fixture.automation()
  const put = (n: number) => {
    const steps = [{ id: 'long', type: 'delay', duration: `P${30 + n}D` }]
    const initiators = n % 2 ? on('go') : on('go', `more-${n}`)
    return fixture.call('PUT', url, { body: { name: 'A', status: 'active', data: { initiators, steps } } })
  }
  const puts = Promise.all(Array.from({ length: 30 }, (_, n) => put(n)))
  await Promise.all([
    ...Array.from({ length: 40 }, () => fixture.post([{ event_name: 'go', customer_uid: user }])),
    ...Array.from({ length: 20 }, () => fixture.read()),
  ])
  expect((await puts).map(({ status }) => status)).toEqual(Array(30).fill(200))
  await fixture.read()
  expect(await count('select count(*)::int from automation_runs where automation_id = $1', [id])).toBe(40)
  const versions = await count('select count(*)::int from automation_versions where automation_id = $1', [id])
  expect((await fixture.call('GET', url)).body.version).toBe(versions)
})

test('concurrent deletion, events, cancels and replays leave consistent rows', async () => {
  const user = await fixture.user()
  const { id, url } = await fixture.automation()
  await fixture.post(Array.from({ length: 20 }, () => ({ event_name: 'go', customer_uid: user })))
  await fixture.read()
  const runs = await fixture.runs(id)
  const responses = await Promise.all([
    ...runs.slice(0, 10).map(run => fixture.call('POST', `${run.url}/cancel`)),
    ...runs.slice(0, 10).map(run => fixture.call('POST', `${run.url}/replay`)),
    ...Array.from({ length: 10 }, () => fixture.call('DELETE', url)),
    ...Array.from({ length: 10 }, () => fixture.post([{ event_name: 'go', customer_uid: user }]).then(() => ({ status: 200 }))),
    ...Array.from({ length: 10 }, () => fixture.read().then(() => ({ status: 200 }))),
  ])
  expect(responses.map(({ status }) => status).filter(status => ![200, 201, 204, 404, 409].includes(status))).toEqual([])
  expect(responses.filter(({ status }) => status === 204)).toHaveLength(1)
  await fixture.read()
  await expectConsistent()
})

test('an event starts one run only, with many concurrent readers', async () => {
  const user = await fixture.user()
  const { id } = await fixture.automation({ reentry: false, steps: LONG })
  await fixture.post(Array.from({ length: 30 }, () => ({ event_name: 'go', customer_uid: user })))
  await Promise.all(Array.from({ length: 20 }, () => fixture.read()))
  await fixture.read()
  expect((await fixture.runs(id)).map(run => run.reason ?? run.status).sort()).toEqual([...Array(29).fill('already_running'), 'pending'])
})
