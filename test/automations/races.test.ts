import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Ground, ground, LONG, on } from './ground.ts'

let api: TestApi
let g: Ground
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  g = await ground(api)
})

const count = async (text: string, values: unknown[]) => (await api.pool.query<{ count: number }>(text, values)).rows[0]!.count

/** Invariants of everything that is in the environment. */
async function expectWhole() {
  // An unfinished run has its promise, and nothing else has one.
  const odd = await count(
    `select count(*)::int from automation_runs r full join (select * from due where kind = 'automation-run') d on d.id = r.number
     where coalesce(r.environment, d.environment) = $1 and (d.id is not null) <> coalesce(r.status in ('pending', 'running', 'waiting'), false)`,
    [g.environment],
  )
  expect(odd).toBe(0)
  // Nothing of an automation that is inactive or gone is unfinished.
  const orphans = await count(
    `select count(*)::int from automation_runs r left join automations a on a.environment = r.environment and a.id = r.automation_id
     where r.environment = $1 and r.status in ('pending', 'running', 'waiting') and coalesce(a.status, 'inactive') = 'inactive'`,
    [g.environment],
  )
  expect(orphans).toBe(0)
}

test('fifty changes of status among events that come: every event has one run, or came while the automation was inactive', async () => {
  const users = await Promise.all(Array.from({ length: 8 }, () => g.user()))
  const always = await g.automation()
  const { id } = await g.automation()
  const statuses = ['inactive', 'active', 'paused', 'active']
  const changes = Array.from({ length: 50 }, (_, n) => g.setStatus(id, statuses[n % 4]!))
  const events = Array.from({ length: 25 }, () => g.tell(users.map(customer_uid => ({ event_name: 'go', customer_uid }))))
  const reads = Array.from({ length: 25 }, () => g.read())
  const answers = await Promise.all(changes)
  await Promise.all([...events, ...reads])
  await g.read()
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
  expect(await count('select count(*)::int from automation_runs where automation_id = $1', [always.id])).toBe(200)
  expect(await count('select count(distinct event_id)::int from automation_runs where automation_id = $1', [always.id])).toBe(200)
  const own = await count('select count(*)::int from automation_runs where automation_id = $1', [id])
  expect(await count('select count(distinct event_id)::int from automation_runs where automation_id = $1', [id])).toBe(own)
  await expectWhole()
})

test('an automation that is only paused and active again among fifty changes misses no event', async () => {
  const user = await g.user()
  const { id } = await g.automation()
  await Promise.all([
    ...Array.from({ length: 50 }, (_, n) => g.setStatus(id, n % 2 ? 'active' : 'paused')),
    ...Array.from({ length: 40 }, () => g.tell([{ event_name: 'go', customer_uid: user }])),
    ...Array.from({ length: 20 }, () => g.read()),
  ])
  await g.read()
  expect(await count('select count(*)::int from automation_runs where automation_id = $1', [id])).toBe(40)
  await expectWhole()
})

test('changes of the data among events that come: each run has the one version or the other, none is missed', async () => {
  const user = await g.user()
  const { id, url } = await g.automation()
  const put = (n: number) => {
    const steps = [{ id: 'long', type: 'delay', duration: `P${30 + n}D` }]
    const initiators = n % 2 ? on('go') : on('go', `more-${n}`)
    return g.call('PUT', url, { body: { name: 'A', status: 'active', data: { initiators, steps } } })
  }
  const puts = Promise.all(Array.from({ length: 30 }, (_, n) => put(n)))
  await Promise.all([
    ...Array.from({ length: 40 }, () => g.tell([{ event_name: 'go', customer_uid: user }])),
    ...Array.from({ length: 20 }, () => g.read()),
  ])
  expect((await puts).map(({ status }) => status)).toEqual(Array(30).fill(200))
  await g.read()
  expect(await count('select count(*)::int from automation_runs where automation_id = $1', [id])).toBe(40)
  const versions = await count('select count(*)::int from automation_versions where automation_id = $1', [id])
  expect((await g.call('GET', url)).body.version).toBe(versions)
})

test('deletion among events, cancels and replays: what is left is whole', async () => {
  const user = await g.user()
  const { id, url } = await g.automation()
  await g.tell(Array.from({ length: 20 }, () => ({ event_name: 'go', customer_uid: user })))
  await g.read()
  const runs = await g.runs(id)
  const answers = await Promise.all([
    ...runs.slice(0, 10).map(run => g.call('POST', `${run.url}/cancel`)),
    ...runs.slice(0, 10).map(run => g.call('POST', `${run.url}/replay`)),
    ...Array.from({ length: 10 }, () => g.call('DELETE', url)),
    ...Array.from({ length: 10 }, () => g.tell([{ event_name: 'go', customer_uid: user }]).then(() => ({ status: 200 }))),
    ...Array.from({ length: 10 }, () => g.read().then(() => ({ status: 200 }))),
  ])
  expect(answers.map(({ status }) => status).filter(status => ![200, 201, 204, 404, 409].includes(status))).toEqual([])
  expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
  await g.read()
  await expectWhole()
})

test('an event starts one run only, of however many readers', async () => {
  const user = await g.user()
  const { id } = await g.automation({ reentry: false, steps: LONG })
  await g.tell(Array.from({ length: 30 }, () => ({ event_name: 'go', customer_uid: user })))
  await Promise.all(Array.from({ length: 20 }, () => g.read()))
  await g.read()
  expect((await g.runs(id)).map(run => run.reason ?? run.status).sort()).toEqual([...Array(29).fill('already_running'), 'pending'])
})
