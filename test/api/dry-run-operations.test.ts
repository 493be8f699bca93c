// The dry run of every operation that changes something: it leaves all rows as they are, calls nobody, and tells what the real call then does.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { descriptions } from '../../schemas/generated/operations.ts'
import { routes } from '../../api/routes.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Answer } from '../harness/client.ts'
import { type Described, operations, pathParameters, resourceParameters } from '../harness/described.ts'
import { type OperationProject, projectFor } from '../harness/operation-project.ts'
import type { Request } from '../harness/operation-requests.ts'
import { sharedReceiver } from '../harness/resource-makers.ts'

type Change = { action: string; object: string; id: string | null; before: object | null; after: object | null }
type Entry = { resource: string; resource_id: string | null; before: object | null; after: object | null }

/** Their real calls answer in the shape of their dry run. */
const OWN = ['v4CreateEvents', 'v4EvaluateUserRemoteConfigurations']
/** What is in their entries goes to a receiver. */
const SEND = [
  'v4SendTestScheduledReport',
  'v4ResendScheduledReportRun',
  'v4ReplayIntegrationDeliveries',
  'v4TestIntegration',
  'v4TestNotificationChannel',
]
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
    const declared = { rollback: isPlain, plan: isPlanned, own: operation.mode === 'pool' }
    expect([description.id, description.dryRun === null || declared[description.dryRun]]).toEqual([description.id, true])
  }
  const without = descriptions.filter(({ method, dryRun }) => (method === 'GET') !== (dryRun === null)).map(({ id }) => id)
  expect(without).toEqual(['v4BacktestAutomation'])
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
  })
})
