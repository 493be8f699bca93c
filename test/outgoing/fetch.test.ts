import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Stripe from 'stripe'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { outgoingFetch } from '../../workflows/outgoing/fetch.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'

const open = outgoing({ allowPrivateNetwork: true })
const guarded = outgoing({ allowPrivateNetwork: false })
const get = outgoingFetch(open)

type Heard = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { text: string }
let heard: Heard[] = []
let answer: (response: ServerResponse) => void
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const { method, url, headers } = request
    heard.push({ method, url, headers, text: Buffer.concat(chunks).toString() })
    answer(response)
  })
})
let base = ''
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  heard = []
  answer = response => response.end('{}')
})
afterAll(async () => {
  server.closeAllConnections()
  await Promise.all([open.close(), guarded.close(), new Promise(resolve => server.close(resolve))])
})

const says =
  (status: number, text: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end(text)

describe('fetch over the guarded client', () => {
  test('sends method, headers and body, and hands on status, headers and text', async () => {
    answer = says(402, '{"é":1}', { 'Retry-After': '5', 'X-Reason': 'card' })
    const response = await get(new URL('/v1/x?a=1', base), { method: 'POST', headers: { Authorization: 'Bearer k' }, body: 'a=é' })
    expect(heard).toMatchObject([{ method: 'POST', url: '/v1/x?a=1', headers: { authorization: 'Bearer k' }, text: 'a=é' }])
    expect([response.status, response.ok, response.headers.get('retry-after'), response.headers.get('x-reason')]).toEqual([
      402,
      false,
      '5',
      'card',
    ])
    expect(await response.json()).toEqual({ é: 1 })
  })

  test('takes a Request and bytes, and gives a response without a body', async () => {
    answer = response => void response.writeHead(204).end()
    const response = await get(new Request(`${base}/x`, { method: 'PUT', body: new Uint8Array([104, 105]) }))
    expect([heard[0]!.method, heard[0]!.text, response.status, await response.text()]).toEqual(['PUT', 'hi', 204, ''])
  })

  test('follows no redirect', async () => {
    answer = says(302, '', { Location: `${base}/elsewhere` })
    expect((await get(base)).status).toBe(302)
    expect(heard).toHaveLength(1)
  })

  test('hands on no half of a long answer, and all of one within its limit', async () => {
    answer = says(200, 'x'.repeat(100_000))
    await expect(get(base)).rejects.toMatchObject({ code: 'answer_too_large' })
    expect(await (await outgoingFetch(open, { answerBytes: 8 << 20 })(base)).text()).toHaveLength(100_000)
  })

  test('reaches no private address where these are closed', async () => {
    await expect(outgoingFetch(guarded)(base.replace('http:', 'https:'))).rejects.toMatchObject({ code: 'address_refused' })
    expect(heard).toEqual([])
  })

  test('ends with its time limit, and with the reason of its signal', async () => {
    answer = () => {}
    await expect(outgoingFetch(open, { limitMs: 100 })(base)).rejects.toMatchObject({ code: 'timeout' })
    await expect(get(base, { signal: AbortSignal.abort(new Error('the lease is lost')) })).rejects.toThrow('the lease is lost')
    const lost = new AbortController()
    answer = () => lost.abort(new Error('lost meanwhile'))
    await expect(get(base, { signal: lost.signal })).rejects.toThrow('lost meanwhile')
  })

  test('refuses a method that the client does not have', async () => {
    await expect(get(base, { method: 'OPTIONS' })).rejects.toMatchObject({ code: 'request_invalid' })
  })

  test("carries Stripe's client", async () => {
    answer = says(200, '{"id":"sub_1","object":"subscription"}', { 'Content-Type': 'application/json' })
    const { hostname: host, port } = new URL(base)
    const stripe = new Stripe('sk_test_1', {
      host,
      port: Number(port),
      protocol: 'http',
      maxNetworkRetries: 0,
      httpClient: Stripe.createFetchHttpClient(get),
    })
    expect((await stripe.subscriptions.retrieve('sub_1')).id).toBe('sub_1')
    expect(heard).toMatchObject([{ url: '/v1/subscriptions/sub_1', headers: { authorization: 'Bearer sk_test_1' } }])
    answer = says(429, '{"error":{"message":"slow","type":"rate_limit"}}', { 'Content-Type': 'application/json', 'Retry-After': '7' })
    await expect(stripe.subscriptions.retrieve('sub_1')).rejects.toMatchObject({ statusCode: 429, headers: { 'retry-after': '7' } })
  })
})
