// The dry run of every operation that changes something: it leaves all rows as they are, calls nobody, and tells what the real call then does.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { routes } from '../../api/routes.ts'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { descriptions } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Answer } from '../harness/client.ts'
import { type Described, operations, pathParameters, resourceParameters } from '../harness/described.ts'
import { namedKey } from '../harness/named-keys.ts'
import { type OperationProject, projectFor } from '../harness/operation-project.ts'
import { operationRequests, type Request } from '../harness/operation-requests.ts'
import { sharedReceiver } from '../harness/resource-makers.ts'

type Change = { action: string; object: string; id: string | null; before: object | null; after: object | null }
type Entry = { resource: string; resource_id: string | null; before: object | null; after: object | null }

/** Their real calls answer in the shape of their dry run. */
const OWN = ['v4CreateEvents', 'v4EvaluateUserRemoteConfigurations']
/** What is in their entries goes to a receiver. */
const TEST = ['v4TestIntegration', 'v4TestNotificationChannel']
const RESEND = ['v4ResendScheduledReportRun', 'v4ReplayIntegrationDeliveries', 'v4ResendIntegrationDelivery']
const SEND = ['v4SendTestScheduledReport', ...RESEND, ...TEST]
const TIMED = /_at$|^now$|^target$/
/** Well-formed as an id of every kind. */
const NOTHING = '999999999'
const DRY = { 'Dry-Run': 'true' }

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const mutating = operations.filter(({ dryRun }) => dryRun !== null)

/** Entries that the real call has written. */
async function entriesOf(answer: Answer): Promise<Entry[]> {
  const { rows } = await api.pool.query<Entry>(
    'select resource, resource_id, before, after from audit_log where request_id = $1 order by created_at, id',
    [answer.headers.get('x-request-id')],
  )
  return rows
}

function actionOf({ method, id }: Described, { before, after }: Pick<Entry, 'before' | 'after'>): string {
  if (SEND.includes(id)) return 'send'
  if (before && after) return 'update'
  if (before || after) return before ? 'delete' : 'create'
  return method === 'DELETE' ? 'delete' : 'update'
}

/** Without the tests that an activation sends first: they are in no audit log. */
const withoutTests = (operation: Described, changes: Change[]) =>
  SEND.includes(operation.id) ? changes : changes.filter(({ action }) => action !== 'send')

/** Of the two, what no second call can have in common with the first: generated ids and addresses, and times. */
function expectSame(change: Change, entry: Entry): void {
  expect(change.id === null || change.id === entry.resource_id).toBe(true)
  for (const state of ['before', 'after'] as const) {
    const told = change[state] as Record<string, unknown> | null
    const real = entry[state]
    if (told === null || real === null) continue
    const isFixed = ([name, value]: [string, unknown]) => value !== null && !TIMED.test(name)
    const fixed = Object.fromEntries(Object.entries(told).filter(isFixed))
    expect(real).toMatchObject(fixed)
    expect(Object.keys(told)).toEqual(expect.arrayContaining(Object.keys(real)))
  }
}

const failureOf = ({ status, body }: Answer) => [status, status < 300 ? null : body.error]

/** Settled, so that no later change of the rows comes from folding. */
async function settled(operation: Described) {
  const home = await projectFor(api, operation)
  const request = await home.requests.example(operation)
  expect(await drainMarks(api.pool, home.environment, 10_000)).toBe(true)
  return { home, request }
}

/** The answer to the dry run, which has changed nothing and called nobody. */
async function tryOut({ requests, rows }: OperationProject, operation: Described, request: Request): Promise<Answer> {
  const { received } = await sharedReceiver()
  const before = { rows: await rows(), received: received.length }
  const answer = await requests.send(operation, structuredClone(request), { ...DRY, 'Idempotency-Key': 'of the dry run' })
  expect({ rows: await rows(), received: received.length }).toEqual(before)
  return answer
}

test('every operation that changes something has a dry run, as it declares', () => {
  for (const { description, operation } of routes) {
    const isPlanned = operation.mode === 'transaction' && operation.plan !== null
    const isPlain = operation.mode === 'transaction' && operation.prepare === null && !isPlanned
    // The dry run of what the MCP server alone may call is a field of its body.
    const isOwn = operation.mode === 'pool' || description.auth === 'oauth-only'
    const declared = { rollback: isPlain, plan: isPlanned, own: isOwn }
    expect([description.id, description.dryRun === null || declared[description.dryRun]]).toEqual([description.id, true])
  }
  const without = descriptions.filter(({ method, dryRun }) => (method === 'GET') !== (dryRun === null)).map(({ id }) => id)
  expect(without).toEqual(['v4PreviewSegment', 'v4BacktestAutomation'])
  expect(descriptions.filter(({ dryRun }) => dryRun === 'own').map(({ id }) => id)).toEqual(expect.arrayContaining(OWN))
})

describe('the dry run', () => {
  test.for(mutating.filter(({ id }) => !OWN.includes(id)))('of $id tells what the call then does', async operation => {
    const { home, request } = await settled(operation)
    const tried = await tryOut(home, operation, request)
    expect([tried.status, tried.text]).toEqual([200, tried.text])
    const { object, status, changes, truncated } = tried.body
    expect({ object, status, truncated }).toEqual({ object: 'dry_run', status: operation.success, truncated: false })

    const real = await home.requests.send(operation, request)
    expect([real.status, real.text]).toEqual([status, real.text])
    expect(real.headers.get('idempotency-replayed')).toBeNull()
    const entries = await entriesOf(real)
    const predicted = withoutTests(operation, changes)
    expect(predicted.map(({ object, action }) => [object, action])).toEqual(
      entries.map(entry => [entry.resource, actionOf(operation, entry)]),
    )
    // The log has no id of an erased customer, and of a test its result.
    if (operation.id === 'v4DeleteCustomer') expect(predicted[0]!.id).toBe(request.path.customer_id)
    else if (!TEST.includes(operation.id)) for (const [i, change] of predicted.entries()) expectSame(change, entries[i]!)

    // The same once more: most creations and deletions are refused then.
    const again = await tryOut(home, operation, request)
    const repeated = await home.requests.send(operation, request)
    expect(failureOf(again)).toEqual(failureOf({ ...repeated, status: repeated.status < 300 ? 200 : repeated.status }))
  })

  test.for(OWN)('of %s has the answer of the call', async id => {
    const operation = operations.find(one => one.id === id)!
    const { home, request } = await settled(operation)
    // A user whose sums are to be counted again, as after a purchase: the call counts them before it decides.
    await api.pool.query(
      `insert into stale_users (environment, user_no, sums) select environment, no, true from users where environment = $1`,
      [home.environment],
    )
    const tried = await tryOut(home, operation, request)
    const real = await home.requests.send(operation, request)
    const withoutIds = ({ results, ...body }: { results?: object[] }) => ({ ...body, results: results?.map(one => ({ ...one, id: null })) })
    expect([tried.status, tried.body]).toEqual([real.status, withoutIds(real.body)])
  })

  test.for(mutating)('of $id is refused as the call is', async operation => {
    const { home, request } = await settled(operation)
    const refused = async (faulty: Request) => {
      const answers = [await tryOut(home, operation, faulty), await home.requests.send(operation, faulty)]
      expect(answers.map(failureOf)[0]).toEqual(answers.map(failureOf)[1])
      return answers[0]!.status
    }
    expect(await refused({ ...request, query: { ...request.query, '?': '1' } })).toBe(400)
    if (operation.body) expect(await refused({ ...request, body: { '?': 1 } })).toBe(400)
    for (const name of resourceParameters(operation))
      expect([name, await refused({ ...request, path: { ...request.path, [name]: NOTHING } })]).toEqual([name, 404])
  })

  test.for(mutating)('of $id needs the key and the scope of the call', async operation => {
    const project = await api.newProject()
    const request = { path: Object.fromEntries(pathParameters(operation).map(name => [name, 'a'])), query: {} }
    for (const key of [project.projectKey, 'sk_unknown-unknown-unknown', (await namedKey(api, project, ['audit_log:read'])).key]) {
      const caller = operationRequests(api, key)
      const [tried, real] = [await caller.send(operation, request, DRY), await caller.send(operation, request)]
      expect(failureOf(tried)).toEqual(failureOf(real))
      expect([401, 403]).toContain(tried.status)
    }
  })
})
