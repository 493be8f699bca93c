// Compares the served description with the list of all operations. `operations.csv` is the contract; its v3 rows belong to another description.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, operationsOf } from '../harness/described.ts'

/** Operations that are not implemented yet. Only this list names them. */
const LATER = ['v4GetAppleAdsReport', 'v4GetAppleAdsSeries', 'v4GetAppleAdsConnection', 'v4UpdateAppleAdsEntity']

type Row = Record<'operationId' | 'method' | 'path' | 'tag' | 'success_status' | 'pagination' | 'idempotency_key' | 'auth' | 'kind', string>

const rows: Row[] = parse(readFileSync(join(import.meta.dirname, 'operations.csv')), { columns: true })
const listed = rows.filter(row => row.path.startsWith('/v4/'))

/** An operation of the description as a row of the list. */
const rowOf = (operation: Described): Row => ({
  operationId: operation.id,
  method: operation.method,
  path: operation.path,
  tag: operation.tag,
  success_status: String(operation.success),
  pagination: operation.pagination,
  idempotency_key: operation.idempotent ? 'yes' : 'no',
  auth: operation.auth,
  kind: operation.extension ? 'extension' : 'documented',
})

let api: TestApi
let served: Map<string, Described>
beforeAll(async () => {
  api = await startApi()
  const { body } = await api.call('GET', '/v4/openapi.json', { key: null })
  served = new Map(operationsOf(body).map(operation => [operation.id, operation]))
})
afterAll(() => api.stop())

test('the list has 151 operations of v4, and all unimplemented operations are among them', () => {
  expect(listed).toHaveLength(151)
  const ids = listed.map(row => row.operationId)
  expect(new Set(ids).size).toBe(151)
  expect(LATER.filter(id => !ids.includes(id))).toEqual([])
})

describe.each(listed)('$operationId', row => {
  test('is served as listed, or not implemented yet', () => {
    const operation = served.get(row.operationId)
    if (LATER.includes(row.operationId)) expect(operation, 'is served: take it off LATER').toBeUndefined()
    else expect(operation && rowOf(operation)).toEqual(row)
  })
})

test('every served operation is listed', () => {
  const ids = new Set(listed.map(row => row.operationId))
  expect([...served.keys()].filter(id => !ids.has(id))).toEqual([])
})
