import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Client } from '../harness/client.ts'
import { type CrashFixture, crashFixture } from '../harness/crash-fixture.ts'
import { type Hook, hook, post } from '../harness/integrations.ts'
import { launch, run } from '../harness/process.ts'
import { until } from '../harness/until.ts'

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let site: CrashFixture
let call: Client
let made: Hook
beforeAll(async () => {
  site = await crashFixture({ events: 0, perBatch: 1, people: 1, partRows: 100, more: { ALLOW_PRIVATE_NETWORK: 'true' } })
  call = site.call
})
afterAll(() => site.end())

const PEOPLE = 5
const EACH = 4
const EVENTS = PEOPLE * EACH
const DYING = 'test/crash/worker-at-point.ts'
const custom = (identity_id: string, event_name: string) => ({ identity_id, event_name, price: undefined, currency: undefined })

/** How often each delivery came, by its id. */
const came = () => {
  const counts = new Map<string, number>()
  for (const { headers } of made.receiver.events()) {
    const id = String(headers['webhook-id'])
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

async function endsWell(): Promise<void> {
  const all = await until(
    'all delivered',
    async () => {
      const list = await made.deliveries()
      return list.length === EVENTS && list.every(({ status }: { status: string }) => status === 'delivered') ? list : undefined
    },
    60_000,
  )
  expect(new Set(all.map(({ event_id }: { event_id: string }) => event_id)).size).toBe(EVENTS)
  expect([...came().keys()].sort()).toEqual(all.map((one: { id: string }) => one.id).sort())
  for (let person = 0; person < PEOPLE; person++) {
    const names = made.receiver.events().flatMap(({ body }) => (body.identity_id === `p${person}` ? [String(body.event_name)] : []))
    // Repeats only of the one that was in hand.
    expect([...new Set(names)]).toEqual(['n0', 'n1', 'n2', 'n3'])
    expect(names).toEqual([...names].sort())
  }
  // Each sending is an attempt. Of what the worker had claimed nobody knows whether it was begun.
  for (const { id, attempt_count, attempts } of all) {
    expect(attempt_count).toBeGreaterThanOrEqual(came().get(id)!)
    expect(attempts).toHaveLength(attempt_count)
    expect(attempts.at(-1)).toMatchObject({ number: attempt_count, http_status: 200, error: null })
    for (const attempt of attempts.slice(0, -1))
      expect(attempt).toMatchObject({ duration_ms: null, http_status: null, error: expect.stringContaining('may have been sent') })
  }
  const { rows } = await site.database.pool.query(`select 1 from due where kind = 'delivery'`)
  expect(rows).toEqual([])
}

test.each([
  ['consumed', 1],
  ['before-effect', 3],
  ['delivery-sent', 3],
  ['delivery-recorded', 2],
])('a worker that dies at "%s" loses no event, and repeats under the same id what it had in hand', async (point, after) => {
  made = await hook({ call, config: { events: ['*'] } })
  const dying = launch({ script: DYING, env: { ...site.env('worker'), CRASH_POINT: point, CRASH_AFTER: String(after) } })
  for (let n = 0; n < EACH; n++) await post(call, ...Array.from({ length: PEOPLE }, (_, i) => custom(`p${i}`, `n${n}`)))
  expect(await dying.ended).toBeNull()
  const worker = await run({ env: site.env('worker') })
  try {
    await endsWell()
    if (point === 'delivery-sent') expect([...came().values()].some(times => times > 1)).toBe(true)
  } finally {
    await worker.end()
    await call('DELETE', `/v4/integrations/${made.id}`)
    await made.receiver.close()
  }
})
