import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import Koa from 'koa'
import { describe, expect, test } from 'vitest'
import type { Context } from '../../api/context.ts'
import { router } from '../../api/router.ts'
import { routes } from '../../api/routes.ts'
import { sdkRoutes } from '../../api/sdk/routes.ts'
import { v3Routes } from '../../api/v3/routes.ts'

const app = new Koa()
const v4 = router(routes)
const v3 = router(v3Routes, { emptyLast: true })
const sdk = router(sdkRoutes)

/** The match that the layer passes to the next one, which it must call once. */
async function match(method: string, path: string, layer = v4): Promise<Record<string, unknown>> {
  const request = Object.assign(new IncomingMessage(new Socket()), { method, url: path })
  const ctx = app.createContext(request, new ServerResponse(request)) as unknown as Context
  let calls = 0
  await layer(ctx, async () => {
    calls++
  })
  expect(calls).toBe(1)
  const found = ctx.state.match
  return found.is === 'found' ? { id: found.route.description.id, ...found.parameters } : found
}

describe('every route', () => {
  test.each(routes.map(({ description: { id, method, path } }) => [id, method, path] as const))('%s', async (id, method, path) => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const filled = (value: string) => path.replaceAll(/\{\w+\}/g, value)
    const parameters = (value: string) => Object.fromEntries(names.map(name => [name, value]))

    expect(await match(method, filled('QON_1'))).toEqual({ id, ...parameters('QON_1') })
    expect(await match(method, filled('a%2Fb%2541%C3%A9'))).toEqual({ id, ...parameters('a/b%41é') })
    // Validation refuses an empty value, with the name of the field. At the end of the path it is a slash at the end.
    expect(await match(method, filled(''))).toEqual(path.endsWith('}') ? { is: 'none' } : { id, ...parameters('') })
    expect(await match(method, `${filled('QON_1')}/`)).toEqual({ is: 'none' })
    expect(await match(method, filled('QON_1').replaceAll('s', '%73'))).toEqual({ id, ...parameters('QON_1') })
    expect(await match(method, `${filled('QON_1')}/nothing/at/all/here`)).toEqual({ is: 'none' })
    expect(await match(method, `${filled('QON_1')}%ff`)).toEqual({ is: 'malformed' })
    expect(await match('OPTIONS', filled('QON_1'))).toMatchObject({ is: 'method', allow: expect.stringContaining(method) })
  })
})

describe('one path, two routes', () => {
  test('the literal wins where it has the method', async () => {
    expect(await match('GET', '/v4/customers/metrics')).toEqual({ id: 'v4GetCustomerMetrics' })
    expect(await match('GET', '/v4/exports/history')).toEqual({ id: 'v4ListExports' })
  })

  test('a method that the literal lacks belongs to the parameter', async () => {
    expect(await match('DELETE', '/v4/customers/metrics')).toEqual({ id: 'v4DeleteCustomer', customer_id: 'metrics' })
  })

  test('Allow names the methods of both', async () => {
    expect(await match('PUT', '/v4/customers/metrics')).toEqual({ is: 'method', allow: 'GET, HEAD, DELETE' })
  })
})

test.each([
  '/v4',
  '/v4/',
  '/v4/nothing',
  '/v4/Users',
  '/v4/users2',
  '//v4/users',
  '/v4//users',
  '/v4/users/',
  '/v4/%75sers/',
  '/v4/users/QON_1/',
  '/v4/customers/metrics/',
  '/v4/users%2Fx',
  '/v4/__proto__',
])('%s has no route', async path => expect(await match('GET', path)).toEqual({ is: 'none' }))

describe('every route of v3', () => {
  test.each(v3Routes.map(({ description: { id, method, path } }) => [id, method, path] as const))('%s', async (id, method, path) => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const filled = (value: string) => path.replaceAll(/\{\w+\}/g, value)
    const parameters = (value: string) => Object.fromEntries(names.map(name => [name, value]))
    for (const [sent, read] of [
      ['QON_1', 'QON_1'],
      ['a@b:c', 'a@b:c'],
      ['a%2Fb%2541%C3%A9', 'a/b%41é'],
      ['a%20b', 'a b'],
      ['', ''],
    ] as const)
      expect(await match(method, filled(sent), v3)).toEqual({ id, ...parameters(read) })
    expect(await match(method, `${filled('QON_1')}%ff`, v3)).toEqual({ is: 'malformed' })
    expect(await match('PUT', filled('QON_1'), v3)).toMatchObject({ is: 'method', allow: expect.stringContaining(method) })
  })
})

describe('every route of mobile SDKs', () => {
  test.each(sdkRoutes.map(({ description: { id, method, path } }) => [id, method, path] as const))('%s', async (id, method, path) => {
    const filled = path.replaceAll(/\{\w+\}/g, 'QON_1')
    expect(await match(method, filled, sdk)).toEqual(path.includes('{id}') ? { id: 'QON_1' } : { id })
    expect(await match('PUT', filled, sdk)).toMatchObject({ is: 'method', allow: expect.stringContaining(method) })
    expect(await match(method, `${filled}/`, sdk)).toEqual({ is: 'none' })
  })
})
