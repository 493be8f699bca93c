import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'
import { OK } from '../harness/receiver.ts'

let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000 })
  call = sandbox(api)
})
afterAll(() => api.stop())
afterEach(async () => {
  await call('DELETE', `/v4/integrations/${made.id}`)
  await made.receiver.close()
})

/** Names of the events as they came, of one person. */
const came = (person: string) =>
  made.receiver
    .events()
    .filter(({ body }) => body.identity_id === person)
    .map(({ body }) => body.event_name)
const named = (person: string, ...names: string[]) => names.map(event_name => ({ identity_id: person, event_name }))
const CUSTOM = { config: { events: ['*'] } }
const times = <T>(count: number, of: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => of(i))

test('the events of a user go out one after the other, those of others beside them', async () => {
  made = await hook({ call, ...CUSTOM })
  made.receiver.otherwise = { status: 200, afterMs: 30 }
  const letters = ['a', 'b', 'c', 'd', 'e']
  await post(call, ...letters.flatMap(letter => ['ada', 'bob', 'eve'].map(person => named(person, letter)[0]!)))
  await made.become(...times(15, () => 'delivered'))
  for (const person of ['ada', 'bob', 'eve']) expect(came(person)).toEqual(letters)
  const ada = made.receiver.events().filter(({ body }) => body.identity_id === 'ada')
  for (const [i, { at }] of ada.entries()) if (i > 0) expect(at - ada[i - 1]!.at).toBeGreaterThan(25)
})

test('one that must be tried again holds back those after it, of its user alone', async () => {
  made = await hook({ call, ...CUSTOM })
  made.receiver.script = [{ status: 500 }]
  await post(call, ...named('ada', 'a', 'b', 'c'))
  await made.become('retrying', 'pending', 'pending')
  await post(call, ...named('bob', 'a'))
  await made.become('retrying', 'pending', 'pending', 'delivered')
  await post(call, ...named('ada', 'd'))
  await made.become('retrying', 'pending', 'pending', 'delivered', 'pending')
  await advance(call, 'PT2M')
  await made.become(...times(5, () => 'delivered'))
  expect(came('ada')).toEqual(['a', 'a', 'b', 'c', 'd'])
})

test('many writers at one user at once: the order of the log, each once', async () => {
  made = await hook({ call, ...CUSTOM })
  await Promise.all(times(20, i => post(call, ...named('ada', `e${i}`), ...named('ada', `f${i}`))))
  await made.become(...times(40, () => 'delivered'))
  const { rows } = await api.pool.query<{ event_name: string }>(
    'select d.event_name from deliveries d join integrations i on i.number = d.integration where i.id = $1 order by d.log_offset',
    [made.id],
  )
  const listed = rows.map(({ event_name }) => event_name)
  expect(came('ada')).toEqual(listed)
  expect(new Set(listed).size).toBe(40)
  for (const i of times(20, n => n)) expect(listed.indexOf(`f${i}`)).toBe(listed.indexOf(`e${i}`) + 1)
})

test('pausing and starting again under fire loses nothing, doubles nothing and keeps the order', async () => {
  made = await hook({ call, ...CUSTOM })
  made.receiver.otherwise = { status: 200, afterMs: 2 }
  const people = times(8, i => `p${i}`)
  const writing = (async () => {
    for (const n of times(12, i => i)) await post(call, ...people.map(person => named(person, `n${String(n).padStart(2, '0')}`)[0]!))
  })()
  for (const i of times(12, n => n)) await made.status((i % 2) as 0 | 1)
  await writing
  await made.status(1)
  await made.become(...times(96, () => 'delivered'))
  for (const person of people) expect(came(person)).toEqual(times(12, n => `n${String(n).padStart(2, '0')}`))
})

test('an integration takes what its configuration selects, from its first activation on', async () => {
  made = await hook({ call, platform: 'Stripe', config: { events: ['trial_started', '8', '*'], event_mapping: { '1': 'Trial' } } })
  const plain = { price: undefined, currency: undefined }
  await post(
    call,
    { identity_id: 'z', event_name: 'trial_started', platform: 'Paddle', ...plain },
    { identity_id: 'z', event_name: 'trial_started', platform: 'iOS', ...plain },
    { identity_id: 'z', event_name: 'subscription_renewed', platform: 'Stripe' },
    { identity_id: 'z', event_name: 'trial_expired', platform: 'Stripe', ...plain },
    { identity_id: 'z', event_name: 'signed_up', platform: 'Stripe', ...plain },
  )
  await made.become('delivered', 'delivered', 'delivered')
  expect(came('z')).toEqual(['Trial', 'subscription_renewed', 'signed_up'])
  await must(call, 'POST', '/v4/events', {
    events: [{ event_id: 'backfill', event_name: 'signed_up', identity_id: 'z', happened_at: '2026-01-01T00:00:00Z', platform: 'Stripe' }],
    trigger: false,
  })
  await post(call, { identity_id: 'z', event_name: 'last', platform: 'Stripe' })
  await made.become(...times(4, () => 'delivered'))
  made.receiver.otherwise = OK
  expect(came('z')).toEqual(['Trial', 'subscription_renewed', 'signed_up', 'last'])
})
