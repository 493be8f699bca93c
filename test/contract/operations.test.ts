// Compares the served descriptions of v4 and v3 with the list of all operations. `operations.csv` is the contract.
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
const listed = [...rows.filter(row => row.path.startsWith('/v4/')), ...rows.filter(row => row.path.startsWith('/v3/'))]

/** An operation of the description as a row of the list. */
const rowOf = (operation: Described): Row => ({
  operationId: operation.id,
  method: operation.method,
  path: operation.path,
  tag: operation.tag,
  success_status: String(operation.success),
  // v3 has no lists in pages, and does not say so at each operation.
  pagination: operation.path.startsWith('/v3/') ? 'none' : operation.pagination,
  idempotency_key: operation.idempotent ? 'yes' : 'no',
  auth: operation.auth,
  kind: operation.extension ? 'extension' : 'documented',
})

let api: TestApi
let served: Map<string, Described>
beforeAll(async () => {
  api = await startApi()
  const described = async (version: 'v3' | 'v4') =>
    operationsOf((await api.call('GET', `/${version}/openapi.json`, { key: null })).body, version)
  served = new Map([...(await described('v4')), ...(await described('v3'))].map(operation => [operation.id, operation]))
})
afterAll(() => api.stop())

test('the list has 152 operations of v4 and 23 of v3, and all unimplemented operations are among them', () => {
  expect(listed).toHaveLength(152 + 23)
  expect(listed).toHaveLength(rows.length)
  const ids = listed.map(row => row.operationId)
  expect(new Set(ids).size).toBe(rows.length)
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
