import { afterEach, expect, test, vi } from 'vitest'
import { type Installation, startInstallation } from '../harness/installation.ts'
import { type Hook, type HookOptions, hook, must, post } from '../harness/integrations.ts'
import { jump } from '../harness/jump.ts'
import { ENDLESS, HANG, HANG_UP, OK, receiver } from '../harness/receiver.ts'
import { until } from '../harness/until.ts'

// Processes start and attempts run out of time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

const MINUTE = 60_000
const PEOPLE = Array.from({ length: 10 }, (_, i) => `p${i}`)
const opened = (identity_id: string) => ({ identity_id, event_name: 'opened', price: undefined, currency: undefined })

let site: Installation
const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await site.end()
  for (const step of undo.splice(0)) await step()
})

async function another(options: Partial<HookOptions> = {}): Promise<Hook> {
  const made = await hook({ call: site.sandbox, config: { events: ['*'] }, ...options })
  undo.push(() => made.receiver.close())
  return made
}

/** On a busy machine a short lease runs out, and what may have been sent then counts as an attempt. No worker dies here. */
const LEASE_SECONDS = 30

/** As many deliveries as there are people, sorted, once they are as wanted. */
const become = (made: Hook, isWanted: (all: { status: string; attempt_count: number }[]) => boolean) =>
  until(
    'deliveries as wanted',
    async () => {
      const all = await made.deliveries()
      return (all.length === PEOPLE.length && isWanted(all)) || undefined
    },
    60_000,
  ).catch(async error => {
    throw new Error(`${error.message}: ${JSON.stringify((await made.deliveries()).map(({ status, attempts }) => [status, attempts]))}`)
  })

/** Everything was delivered under one id each, though the first attempt of one of them ended so. */
async function expectRecovered(made: Hook, first: object): Promise<void> {
  const all = await made.deliveries()
  expect(all.map(({ status }) => status)).toEqual(PEOPLE.map(() => 'delivered'))
  const again = all.filter(({ attempt_count }) => attempt_count > 1)
  expect(again).toHaveLength(1)
  expect(again[0].attempts[0]).toMatchObject(first)
  expect(again[0]).toMatchObject({ attempt_count: 2 })
  const came = made.receiver.events().map(({ headers }) => headers['webhook-id'])
  expect(came).toHaveLength(PEOPLE.length + 1)
  expect([...new Set(came)].sort()).toEqual(all.map(({ id }) => id).sort())
}

test('receivers that hang, hang up, point inside, never end and are down: each costs only itself, and nothing is lost', async () => {
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS })
  const call = site.sandbox
  await site.worker()
  const inside = await receiver()
  undo.push(() => inside.close())
  const [hanging, closing, pointing, endless, down] = [await another(), await another(), await another(), await another(), await another()]
  hanging.receiver.script = [HANG]
  closing.receiver.script = [HANG_UP]
  pointing.receiver.script = [{ status: 307, location: inside.url }]
  endless.receiver.otherwise = ENDLESS
  down.receiver.otherwise = { status: 500 }
  await post(call, ...PEOPLE.map(opened))

  for (const made of [hanging, closing, pointing])
    await become(made, all => all.every(({ attempt_count }) => attempt_count === 1) && all.some(({ status }) => status === 'retrying'))
  await become(endless, all => all.every(({ status }) => status === 'delivered'))
  await become(down, all => all.every(({ status, attempt_count }) => status === 'held' && attempt_count === 1))
  expect(await down.show()).toMatchObject({ active: 2, delivery_error_count: PEOPLE.length })

  await jump(call, 6 * MINUTE)
  await expectRecovered(hanging, { http_status: null, error: 'timeout' })
  await expectRecovered(closing, { http_status: null, error: 'connection_failed' })
  await expectRecovered(pointing, { http_status: 307, error: 'http_307' })
  expect(inside.received).toEqual([])
  for (const { attempts } of await endless.deliveries())
    expect(attempts.map(({ response }: { response: string }) => response.length)).toEqual([1024])

  // Probed with the newest first.
  const newest = (await down.deliveries()).at(-1)
  const probes = down.receiver.events().slice(PEOPLE.length)
  expect(probes.length).toBeGreaterThan(0)
  expect(probes[0]!.headers['webhook-id']).toBe(newest!.id)
  down.receiver.otherwise = OK
  await jump(call, 6 * MINUTE)
  const recovered = await down.deliveries()
  expect(recovered.map(({ status }) => status)).toEqual(PEOPLE.map(() => 'delivered'))
  expect(await down.show()).toMatchObject({ active: 1, delivery_error_count: 0 })
  expect(new Set(down.receiver.events().map(({ headers }) => headers['webhook-id']))).toEqual(new Set(recovered.map(({ id }) => id)))

  const { data } = await must(call, 'GET', '/v4/ledger?from=2026-01-01T00:00:00Z')
  const promised = 5 * PEOPLE.length
  expect(data.find(({ kind }: { kind: string }) => kind === 'deliveries')).toMatchObject({
    promised,
    kept: promised,
    outstanding: 0,
    overdue: 0,
  })
})

test('a name that leads inside is refused by the worker at each attempt, and delivered to when that is allowed', async () => {
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS })
  const call = site.sandbox
  const to = await receiver()
  undo.push(() => to.close())
  const url = to.url.replace('127.0.0.1', 'localhost')
  const made = await another({ settings: { url, sandbox_url: url } })
  const before = to.received.length
  const strict = await site.worker({ ALLOW_PRIVATE_NETWORK: 'false' })
  await post(call, opened('ada'))
  await made.become('retrying')
  const [delivery] = await made.deliveries()
  expect(delivery.attempts).toMatchObject([{ number: 1, http_status: null, error: 'address_refused', response: null }])
  expect(to.received).toHaveLength(before)
  expect(await strict.end()).toBe(0)
  await site.worker()
  await jump(call, 2 * MINUTE)
  expect((await made.deliveries())[0]).toMatchObject({ id: delivery.id, status: 'delivered', attempt_count: 2 })
  expect(to.events().map(({ headers }) => headers['webhook-id'])).toEqual([delivery.id])
})
