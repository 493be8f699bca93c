// Compares the served descriptions of v4, v3 and the mobile SDKs with the list of all operations. `operations.csv` is the contract.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Described, type DescribedProtocol, operationsOf } from '../harness/described.ts'

type Row = Record<'operationId' | 'method' | 'path' | 'tag' | 'success_status' | 'pagination' | 'idempotency_key' | 'auth' | 'kind', string>

const rows: Row[] = parse(readFileSync(join(import.meta.dirname, 'operations.csv')), { columns: true })
const isOf = (protocol: string) => (row: Row) => row.operationId.startsWith(protocol)
const listed = ['v4', 'v3', 'sdk'].flatMap(protocol => rows.filter(isOf(protocol)))

/** An operation of the description as a row of the list. */
const rowOf = (operation: Described): Row => ({
  operationId: operation.id,
  method: operation.method,
  path: operation.path,
  tag: operation.tag,
  success_status: String(operation.success),
  // Only v4 has lists in pages, and only it says so at each operation.
  pagination: operation.path.startsWith('/v4/') ? operation.pagination : 'none',
  idempotency_key: operation.idempotent ? 'yes' : 'no',
  auth: operation.auth,
  kind: operation.extension ? 'extension' : 'documented',
})

let api: TestApi
let served: Map<string, Described>
beforeAll(async () => {
  api = await startApi()
  const described = async (protocol: DescribedProtocol) =>
    operationsOf((await api.call('GET', `/${protocol === 'sdk' ? 'v1' : protocol}/openapi.json`, { key: null })).body, protocol)
  const all = [...(await described('v4')), ...(await described('v3')), ...(await described('sdk'))]
  served = new Map(all.map(operation => [operation.id, operation]))
})
afterAll(() => api.stop())

describe.each(listed)('$operationId', row => {
  test('is served as listed', () => {
    const operation = served.get(row.operationId)
    expect(operation && rowOf(operation)).toEqual(row)
  })
})

test('every served operation is listed', () => {
  const ids = new Set(listed.map(row => row.operationId))
  expect([...served.keys()].filter(id => !ids.has(id))).toEqual([])
})
