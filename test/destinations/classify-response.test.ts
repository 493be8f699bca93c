import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byStatus } from '../../workflows/destinations/classify-response.ts'
import { eventDestinations } from '../../workflows/destinations/registry.ts'
import type { OutgoingRequest, OutgoingResponse } from '../../workflows/outgoing/outgoing.ts'
import { occurrence } from '../harness/occurrence.ts'
import { vendors } from '../harness/vendors/all.ts'

test('only what will be refused again is final', () => {
  const outcomes = Map.groupBy(
    Array.from({ length: 400 }, (_, i) => 200 + i),
    status => byStatus(status).outcome,
  )
  expect(outcomes.get('delivered')).toEqual(Array.from({ length: 100 }, (_, i) => 200 + i))
  expect(outcomes.get('reject')?.every(status => status >= 400 && status < 500)).toBe(true)
  expect([301, 302, 308, 401, 403, 408, 429, 500, 502, 503, 599].every(status => outcomes.get('retry')?.includes(status))).toBe(true)
  expect([400, 404, 409, 410, 413, 422].every(status => outcomes.get('reject')?.includes(status))).toBe(true)
})

const send = async (slug: string, answer: OutgoingResponse, settings = {}) => {
  const requests: OutgoingRequest[] = []
  const request = async (outgoing: OutgoingRequest) => {
    requests.push(outgoing)
    return answer
  }
  const event = occurrence({ outgoing_name: slug === 'adjust' ? 'abc123' : 'subscription_renewed' })
  const sent = await eventDestinations.get(slug)!.send(event, {
    outgoing: { request, close: async () => {} },
    settings: { ...vendors.find(vendor => vendor.slug === slug)!.settings, ...settings },
    deliveryId: 'dlv_0123456789abcdefghij',
    signal: new AbortController().signal,
  })
  return { sent, requests }
}
const ok: OutgoingResponse = { is: 'response', status: 200, retryAfterSeconds: null, text: '', durationMs: 1 }

test('the page about destinations names every one with the address it goes to', async () => {
  const page = await readFile(new URL('../../docs/destinations.md', import.meta.url), 'utf8')
  for (const { slug } of vendors) {
    const row = page.split('\n').find(line => line.startsWith(`| \`${slug}\` |`)) ?? ''
    const { hostname } = new URL((await send(slug, ok)).requests[0]!.url)
    const written = slug === 'slack' ? '`webhook_url`' : slug === 'braze' ? '{rest_endpoint}' : hostname.replace(/^(in1|us6)\./, '')
    expect(row).toContain(written)
  }
})

describe.each(vendors)('$slug', ({ slug }) => {
  test('goes by https to the vendor, in one request, unless the operator names another address', async () => {
    const { requests } = await send(slug, ok)
    expect(requests.map(({ method, url }) => [method, url.split('/')[0]])).toEqual([['POST', 'https:']])
    const moved = await send(slug, ok, { base_url: 'https://proxy.example/vendor/' })
    const { pathname, search } = new URL(requests[0]!.url)
    expect(moved.requests[0]!.url).toBe(`https://proxy.example/vendor${pathname}${search}`)
  })

  test('any answer is judged, and only success is without an error', async () => {
    const names = ['code', 'error', 'errors', 'status', 'status_code', 'message', 'success', 'reason', 'unprocessed', 'quota_limited']
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('ok', 'fail', 'error', 0, 1, 190, 200, 403))
    const body = fc.oneof(
      fc.string(),
      fc.jsonValue().map(value => JSON.stringify(value)),
      fc.record(Object.fromEntries(names.map(name => [name, value])), { requiredKeys: [] }).map(value => JSON.stringify(value)),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(200, 201, 202, 204, 302, 400, 401, 404, 429, 500), body, async (status, text) => {
        const { sent } = await send(slug, { ...ok, status, text })
        expect(['delivered', 'retry', 'reject']).toContain(sent.outcome)
        expect(sent.error === null).toBe(sent.outcome === 'delivered')
        if (status >= 500 || status === 401 || status === 429) expect(sent.outcome).toBe('retry')
        expect(sent.error?.length ?? 0).toBeLessThanOrEqual(1024)
      }),
      { numRuns: 300 },
    )
  })
})
