import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { problemOf } from '../../../api/errors.ts'
import { permit } from '../../../api/permit.ts'
import { parseQuery } from '../../../api/query.ts'
import { requestTurns } from '../../../api/request-turns.ts'
import { routes } from '../../../api/routes.ts'
import type { ExecutionDeps } from '../../../api/run.ts'
import { run } from '../../../api/run.ts'
import { canonicalJson } from '../../../domain/kernel/canonical-json.ts'
import type { GrantOwner } from '../../../domain/operators/grants/grant.ts'
import { appleAds } from '../../../workflows/apple-ads/client.ts'
import { appleAdsEntities } from '../../../workflows/apple-ads/entities.ts'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import { newGrant, type TestGrant } from '../../harness/grants.ts'
import { appleAdsServer } from '../../harness/vendors/apple-ads.ts'
import { type AppleAdsServer, CAMPAIGN, connect, connected, entities, GROUP, KEYWORD } from './fixture.ts'

let api: TestApi
let apple: AppleAdsServer
let out: Outgoing
let deps: ExecutionDeps
let project: TestProjectKeys
let grant: TestGrant

const route = routes.find(({ description }) => description.id === 'v4UpdateAppleAdsEntity')!

beforeAll(async () => {
  apple = await appleAdsServer()
  api = await startApi({ worker: true, leaseMs: 30_000 })
  out = outgoing({ allowPrivateNetwork: true })
  const client = appleAds({ outgoing: out, urls: { api: apple.url, id: apple.url } })
  deps = {
    pool: api.pool,
    secrets: api.secrets,
    turns: requestTurns(20),
    appleAds: appleAdsEntities(client),
  } as Partial<ExecutionDeps> as ExecutionDeps
})
afterAll(async () => {
  await out.close()
  await api.stop()
  await apple.close()
})
beforeEach(async () => {
  project = await api.newProject()
  grant = await newGrant(api, project)
  apple.state.entities = entities()
  apple.state.changes.length = 0
  apple.state.instead = () => undefined
  await connect(api, project, apple.settings)
  await connected(api, project.secret)
})

const owner = (): GrantOwner => ({
  kind: 'grant',
  keyId: grant.id,
  operator: grant.operator,
  clientId: 'client',
  clientName: 'Assistant',
  projectName: 'Project',
  findsTools: false,
  project: project.id,
  environment: project.production,
  environmentKind: 'production',
  scopes: new Set(['analytics:write']),
})

type Body = Record<string, unknown>
/** Calls the operation as the MCP server does. */
async function update(body: Body, { header, search = '', dryRun = false }: { header?: string; search?: string; dryRun?: boolean } = {}) {
  const { values: query, faults } = parseQuery(search, route.description.query)
  const hash = createHash('sha256').update(canonicalJson(body)).digest()
  const repeat = header === undefined ? undefined : { key: header, hash }
  const caller = { requestId: 'request', owner: owner() }
  try {
    permit(route.description, caller.owner)
    const answer = await run(
      route,
      caller,
      { parameters: {}, query, body: structuredClone(body), faults, repeat, dryRun },
      { deps, check: () => {} },
    )
    return { status: answer.status, body: JSON.parse(answer.body!), headers: answer.headers }
  } catch (error) {
    const { status, body: shown, headers } = problemOf(error)
    return { status, body: shown as never as Record<string, never>, headers }
  }
}
let keys = 0
const key = () => `key-${++keys}`
const budget = (after: string, before = '20', more: Body = {}): Body => ({
  entity_type: 'campaign',
  entity_id: String(CAMPAIGN),
  daily_budget: after,
  before_daily_budget: before,
  idempotency_key: key(),
  ...more,
})
const codeOf = (answer: { body: { error?: { code: string } } }) => answer.body.error?.code
const records = async () =>
  (await api.pool.query('select key from apple_ads_updates where environment = $1', [project.production])).rows.length

test('a Secret Key is refused before anything else is looked at', async () => {
  const answer = await api.call('POST', '/v4/analytics/apple-ads/entity/update?x=1', { key: project.secret, raw: '{' })
  expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
})

test('budgets, bids and statuses are sent to Apple once, and written to the audit log', async () => {
  const raised = budget('30.0')
  const answer = await update(raised)
  expect(answer).toMatchObject({
    status: 200,
    body: { field: 'daily_budget', before: '20', after: '30.0', dry_run: false, applied: true, would_send: null },
  })
  expect(apple.state.changes).toEqual([
    { path: `/api/v5/campaigns/${CAMPAIGN}`, body: { campaign: { dailyBudgetAmount: { amount: '30.0', currency: 'USD' } } } },
  ])
  const repeated = await update(raised)
  expect([repeated.body, repeated.headers['Idempotency-Replayed'], apple.state.changes.length]).toEqual([answer.body, 'true', 1])
  expect(codeOf(await update({ ...raised, daily_budget: '31' }))).toBe('idempotency_conflict')
  const group = {
    entity_type: 'ad_group',
    entity_id: String(GROUP),
    campaign_id: String(CAMPAIGN),
    bid: '1',
    before_bid: '1.50',
    idempotency_key: key(),
  }
  expect((await update(group)).body).toMatchObject({ applied: true, before: '1.5' })
  const { idempotency_key: _, ...rest } = group
  const word = {
    ...rest,
    entity_type: 'keyword',
    entity_id: String(KEYWORD),
    ad_group_id: String(GROUP),
    bid: undefined,
    before_bid: undefined,
  }
  const paused = JSON.parse(JSON.stringify({ ...word, status: 'paused', before_status: 'enabled' }))
  expect((await update(paused, { header: key() })).body).toMatchObject({ applied: true, before: 'enabled', after: 'paused' })
  expect(apple.state.changes.at(-1)).toEqual({
    path: `/api/v5/campaigns/${CAMPAIGN}/adgroups/${GROUP}/targetingkeywords/bulk`,
    body: [{ id: KEYWORD, status: 'PAUSED' }],
  })
  const { rows } = await api.pool.query(
    `select actor_kind, resource, after from audit_log where project = $1 and operation = 'v4UpdateAppleAdsEntity' order by id`,
    [project.id],
  )
  expect(rows.map(({ resource, actor_kind }) => `${resource} ${actor_kind}`)).toEqual([
    'apple_ads_campaign grant',
    'apple_ads_ad_group grant',
    'apple_ads_keyword grant',
  ])
})

test('a dry run sends nothing and shows what it would send', async () => {
  const { body } = await update(budget('25', '20', { dry_run: true }))
  expect(body).toMatchObject({ dry_run: true, applied: false, would_send: { method: 'PUT', path: `/campaigns/${CAMPAIGN}` } })
  expect(apple.state.changes).toEqual([])
})

test('a dry run of a call that is to be confirmed sends nothing, and leaves its key free', async () => {
  const raised = budget('30')
  expect((await update(raised, { dryRun: true })).body).toMatchObject({ dry_run: true, applied: false, before: '20', after: '30' })
  expect([apple.state.changes, await records()]).toEqual([[], 0])
  expect((await update(raised)).body).toMatchObject({ dry_run: false, applied: true })
  expect(apple.state.changes).toHaveLength(1)
})

test('a grant without the scope is refused', () => {
  expect(() => permit(route.description, { ...owner(), scopes: new Set(['analytics:read']) })).toThrow('analytics:write')
})

test('faults of the request, wrong beliefs and too high raises are refused, and change nothing', async () => {
  expect((await update(budget('25'), { search: 'x=1' })).body).toMatchObject({ error: { code: 'invalid_request' } })
  const { idempotency_key: _, ...without } = budget('25')
  expect(codeOf(await update(without))).toBe('invalid_data')
  expect(codeOf(await update(budget('25'), { header: 'another' }))).toBe('invalid_data')
  expect(codeOf(await update(budget('25', '20', { bid: '1', before_bid: '1' })))).toBe('invalid_data')
  expect(codeOf(await update(budget('25', '20', { campaign_id: '1' })))).toBe('invalid_data')
  expect(codeOf(await update(budget('0')))).toBe('invalid_data')
  expect(await update(budget('25', '19'))).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } })
  expect(await update(budget('60.01'))).toMatchObject({ status: 422, body: { error: { code: 'raise_limit_exceeded' } } })
  expect(await update(budget('25', '20', { entity_id: '5' }))).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  expect([apple.state.changes, await records()]).toEqual([[], 0])
  expect((await update(budget('60'))).status).toBe(200)
})

test('without an answer the outcome is unknown: the same key reads the present value before it sends again', async () => {
  const raised = budget('30')
  apple.state.instead = ({ method, path }) => {
    if (method !== 'PUT') return undefined
    apple.state.entities.find(one => path.endsWith(String(one.id)))!.budget = '30'
    return 'cut'
  }
  expect(await update(raised, { header: raised.idempotency_key as string })).toMatchObject({
    status: 502,
    body: { error: { code: 'network_error' } },
  })
  // What Apple refuses to show says nothing of the request before.
  for (const status of [403, 404]) {
    apple.state.instead = () => ({ status, body: {} })
    expect(await update(raised, { header: raised.idempotency_key as string })).toMatchObject({ status: 502 })
  }
  apple.state.instead = () => undefined
  expect((await update(raised, { header: raised.idempotency_key as string })).body).toMatchObject({
    applied: true,
    before: '20',
    after: '30',
  })
  expect(apple.state.changes).toEqual([])
  // Apple failed before it had made the change.
  const lost = budget('40', '30')
  apple.state.instead = ({ method }) => (method === 'PUT' ? { status: 503, body: {} } : undefined)
  expect((await update(lost)).status).toBe(502)
  apple.state.instead = () => undefined
  expect((await update(lost)).body).toMatchObject({ applied: true, before: '30', after: '40' })
  expect(apple.state.changes).toHaveLength(1)
})

test.each<[string, unknown]>([
  ['an error', { data: null, error: { errors: [{ message: 'not now' }] } }],
  ['an error without a list', { data: null, error: { errors: {} } }],
  ['no entity', { data: null, error: null }],
  ['another entity', { data: { id: 1 }, error: null }],
  ['the former value', { data: { id: CAMPAIGN, dailyBudgetAmount: { amount: '20', currency: 'USD' } }, error: null }],
])('a success of Apple with %s leaves the outcome unknown', async (_, body) => {
  const raised = budget('30')
  apple.state.instead = ({ method }) => (method === 'PUT' ? { status: 200, body } : undefined)
  expect(await update(raised)).toMatchObject({ status: 502, body: { error: { code: 'network_error' } } })
  apple.state.instead = () => undefined
  expect((await update(raised)).body).toMatchObject({ applied: true, before: '20', after: '30' })
  expect(apple.state.changes).toHaveLength(1)
})

test.each([200, 400, 500])('a failure of another form with status %i is no failure of ours', async status => {
  apple.state.instead = () => ({ status, body: { error: { errors: {} } } })
  const answer = await update(budget('30'))
  expect([answer.status, codeOf(answer)]).toEqual(status === 400 ? [409, 'conflict'] : [502, 'network_error'])
})

test('a process that died after the change was sent left a record by which the repetition knows', async () => {
  const raised = budget('30')
  await update(raised)
  // The state between the answer of Apple and its record.
  await api.pool.query(
    `update apple_ads_updates set settled_at = null, answer = null, claimed_until = clock_timestamp() + interval '1 minute' where key = $1`,
    [raised.idempotency_key],
  )
  expect(codeOf(await update(raised))).toBe('idempotency_in_progress')
  await api.pool.query('update apple_ads_updates set claimed_until = clock_timestamp() where key = $1', [raised.idempotency_key])
  expect((await update(raised)).body).toMatchObject({ applied: true, before: '20', after: '30' })
  expect(apple.state.changes).toHaveLength(1)
})

test('two requests for one entity at the same time do not both change it', async () => {
  let began = () => {}
  const reached = new Promise<void>(resolve => (began = resolve))
  let hold = () => {}
  const held = new Promise<void>(resolve => (hold = resolve))
  const { present } = deps.appleAds
  const slow = {
    ...deps.appleAds,
    present: async (...given: Parameters<typeof present>) => {
      began()
      await held
      return present(...given)
    },
  }
  const fast = deps.appleAds
  deps.appleAds = slow
  const first = update(budget('30'))
  await reached
  deps.appleAds = fast
  expect(codeOf(await update(budget('35')))).toBe('conflict')
  hold()
  expect((await first).status).toBe(200)
  expect(apple.state.changes).toHaveLength(1)
})

test('ten changes a minute, dry runs included, also at the same time', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => update(budget('25', '20', { dry_run: true }))))
  const limited = answers.filter(({ status }) => status === 429)
  expect(limited.length).toBe(2)
  expect(Number(limited[0]!.headers['Retry-After'])).toBeGreaterThan(0)
})

test.each([
  ['raise_budget', 10],
  ['enable', 20],
  ['raise_bid', 20],
])('in 24 hours a project has a limit of %s', async (kind, most) => {
  const fill = (count: number) =>
    api.pool.query(
      `insert into apple_ads_uses (project, kind, times) select $1, $2, array(select clock_timestamp() - interval '23 hours' from generate_series(1, $3))
       on conflict (project, kind) do update set times = excluded.times`,
      [project.id, kind, count],
    )
  const one = apple.state.entities.find(({ id }) => id === CAMPAIGN)!
  const request = (): Body => {
    if (kind === 'enable') {
      one.status = 'PAUSED'
      return { entity_type: 'campaign', entity_id: String(CAMPAIGN), status: 'enabled', before_status: 'paused', idempotency_key: key() }
    }
    if (kind === 'raise_budget') return budget('21', one.budget)
    const group = apple.state.entities.find(({ id }) => id === GROUP)!
    return {
      entity_type: 'ad_group',
      entity_id: String(GROUP),
      campaign_id: String(CAMPAIGN),
      bid: '2',
      before_bid: group.bid,
      idempotency_key: key(),
    }
  }
  await fill(most)
  expect((await update(request())).status).toBe(429)
  expect((await update({ ...request(), dry_run: true })).status).toBe(429)
  expect(apple.state.changes).toEqual([])
  await fill(most - 1)
  expect((await update({ ...request(), dry_run: true })).status).toBe(200)
  expect((await update(request())).status).toBe(200)
})
