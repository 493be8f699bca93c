import { afterAll, beforeAll, expect, test } from 'vitest'
import { users } from '../../cli/users.ts'
import { foldPresent } from '../../domain/analytics/folding/drain.ts'
import { APP_SECRET, startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { product, purchaseOf } from '../harness/purchases.ts'
import { call } from './call.ts'

let api: TestApi
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET }
})
afterAll(() => api.stop())

const START = Date.now()
const ago = (days: number) => new Date(START - days * 86_400_000).toISOString()
const day = (days: number) => ago(days).slice(0, 10)
const opened = (identity_id: string, days: number) =>
  item({ event_name: 'app_opened', happened_at: ago(days), price: undefined, currency: undefined, identity_id })

/** A project whose customers came, with all that was recorded of them, before it was noted who was seen live. */
async function installation(record: (project: TestProjectKeys) => Promise<unknown>) {
  const project = await api.newProject()
  await record(project)
  await api.pool.query(
    `update users set created_at = $2, last_seen_at = least(last_seen_at, $2), recorded_at = null, is_seen_live = null where environment = $1`,
    [project.production, ago(0)],
  )
  await foldPresent(api.pool, project.production)
  const run = (...more: string[]) => call(users, ['recompute-created', String(project.id), ...more], env)
  const began = async () => {
    const { rows } = await api.pool.query<{ identity: string; created_at: string; is_seen_live: boolean | null }>(
      'select identity_id as identity, created_at, is_seen_live from users where environment = $1 order by 1',
      [project.production],
    )
    return Object.fromEntries(rows.map(row => [row.identity, [row.created_at.slice(0, 10), row.is_seen_live]]))
  }
  return { project, run, began }
}
const post = (project: TestProjectKeys, events: unknown[], trigger: unknown) =>
  api.call('POST', '/v4/events', { key: project.secret, body: { events, trigger } })

test('who was imported moves to the begin of the history, after a dry run that changes nothing, and once', async () => {
  const { project, run, began } = await installation(async project => {
    await post(project, [opened('ada', 100), opened('ada', 300), opened('bob', 50)], false)
    // As an import of an earlier program, which let old events act.
    await post(project, [opened('cleo', 70)], 'always')
    await post(project, [opened('dan', 1)], true)
    await post(project, [opened('dan', 60)], false)
  })
  const before = await began()
  expect(before).toEqual(Object.fromEntries(['ada', 'bob', 'cleo', 'dan'].map(name => [name, [day(0), null]])))
  const dry = await run()
  expect([dry.code, dry.notes]).toEqual([0, ''])
  expect(dry.out.split('\n').map(line => line.trim().replace(/ {2,}/g, ' | '))).toEqual([
    'production: 3 of 4 customers would begin when their history begins.',
    'began on | customers | history from | history to',
    `${day(0)} | 3 | ${day(300)} | ${day(50)}`,
    'sandbox: 0 of 0 customers would begin when their history begins.',
    'Nothing is changed: --apply moves them.',
  ])
  expect(await began()).toEqual(before)
  expect((await run('--apply')).out).toContain('production: 3 of 4 customers begin when their history begins.')
  const moved = { ada: [day(300), false], bob: [day(50), false], cleo: [day(70), false], dan: [day(0), true] }
  expect(await began()).toEqual(moved)
  const facts =
    'select count(*)::int as n from user_facts f where environment = $1 and not gone and created > extract(epoch from now()) - 86400'
  await foldPresent(api.pool, project.production)
  expect((await api.pool.query(facts, [project.production])).rows).toEqual([{ n: 1 }])
  const again = JSON.parse((await run('--apply', '--json')).out)
  expect(again).toEqual(['production', 'sandbox'].map(environment => expect.objectContaining({ environment, moved: 0, days: [] })))
  const { rows } = await api.pool.query(
    `select after from audit_log where project = $1 and operation = 'users recompute-created' order by id`,
    [project.id],
  )
  expect(rows.map(({ after }) => after.moved.production)).toEqual([3, 0])
})

test('history that came after something had shown the customer moves nobody; purchases count as they do when they are recorded', async () => {
  const { run, began } = await installation(async project => {
    await product(api, { id: 'monthly', stripe_product_id: 'm' }, project.secret)
    const buy = async (identity_id: string, days: number, more: object = {}) => {
      const { user_id } = (await api.call('POST', '/v4/identities', { key: project.secret, body: { identity_id } })).body
      const stripe_store_data = { subscription_id: `sub_${identity_id}`, product_id: 'm' }
      return purchaseOf(api, user_id, { purchased_at: ago(days), expires_at: ago(days - 30), stripe_store_data, ...more }, project.secret)
    }
    expect((await buy('backfilled', 2, { trigger: false })).status).toBe(201)
    expect((await buy('old', 40)).status).toBe(201)
    expect((await buy('restored', 40)).status).toBe(201)
    expect((await buy('young', 1)).status).toBe(201)
    await post(project, [opened('young', 90)], false)
    await api.pool.query(`update users set sdk_version = '1' where environment = $1 and identity_id = 'restored'`, [project.production])
  })
  await run('--apply')
  expect(await began()).toEqual({
    backfilled: [day(2), false],
    old: [day(40), false],
    restored: [day(0), true],
    young: [day(0), true],
  })
})

test('more customers than one step looks at', async () => {
  const names = Array.from({ length: 450 }, (_, n) => `c${n}`)
  const { run } = await installation(project =>
    post(
      project,
      names.map(name => opened(name, 30)),
      false,
    ),
  )
  expect((await run('--apply')).out).toContain('production: 450 of 450 customers begin')
  expect((await run()).out).toContain('production: 0 of 450 customers')
})

test('a project that there is none of is one line', async () => {
  expect(await call(users, ['recompute-created', '99999'], env)).toMatchObject({ code: 1, notes: 'there is no project 99999' })
})
