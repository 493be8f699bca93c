import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { authenticator } from '../../api/authenticate.ts'
import { type KeyOwner, storeKey } from '../../domain/projects/keys.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { lockedWaiters } from '../harness/locked-waiters.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let lookups = 0
let ownerOf: (key: string, address?: string) => Promise<KeyOwner>
beforeAll(async () => {
  api = await startApi()
})
beforeEach(() => {
  lookups = 0
  const counted: Pool = Object.create(api.pool, {
    query: {
      value: (query: { name?: string }, values?: unknown[]) => {
        if (query.name === 'find-key') lookups++
        return api.pool.query(query as never, values as never)
      },
    },
  })
  const authenticate = authenticator(counted)
  ownerOf = (key, address = '192.0.2.1') => authenticate(`Bearer ${key}`, address)
})
afterAll(() => api.stop())

const unknown = (n: number) => `sk_${'x'.repeat(30)}${n}`
const refused = (status: number) => expect.objectContaining({ status })

test('an unknown key is looked up once a second at most, and works soon after it is made', async () => {
  const key = `sk_${'n'.repeat(40)}`
  for (let n = 0; n < 50; n++) await expect(ownerOf(key)).rejects.toEqual(refused(401))
  expect(lookups).toBeLessThan(10)
  await transaction(api.pool, tx => storeKey(tx, api.secrets, api.project.id, 'secret', key))
  const owner = await until('the key works', () => ownerOf(key).catch(() => undefined))
  expect(owner.project).toBe(api.project.id)
})

test('an address that tries many unknown keys is refused before the lookup; known keys of the same address work', async () => {
  expect((await ownerOf(api.project.secret)).project).toBe(api.project.id)
  const answers = await Promise.all(Array.from({ length: 120 }, (_, n) => ownerOf(unknown(n)).catch(error => error.status)))
  expect(answers.filter(status => status === 401)).toHaveLength(100)
  const later = await Promise.all(Array.from({ length: 100 }, (_, n) => ownerOf(unknown(1000 + n)).catch(error => error)))
  expect(later.every(({ status, headers }) => status === 429 && Number(headers['Retry-After']) >= 1)).toBe(true)
  expect(lookups).toBe(101)
  expect((await ownerOf(api.project.secret)).project).toBe(api.project.id)
  expect((await ownerOf((await api.newProject()).secret, '192.0.2.2')).kind).toBe('secret')
  expect(lookups).toBe(102)
})

test('many known keys that one address sends at once work, though this process has seen none of them', async () => {
  const keys = Array.from({ length: 150 }, (_, n) => `sk_${'k'.repeat(37)}${String(n).padStart(3, '0')}`)
  await transaction(api.pool, async tx => {
    for (const key of keys) await storeKey(tx, api.secrets, api.project.id, 'secret', key)
  })
  const owners = await Promise.all(keys.map(key => ownerOf(key).catch(error => error)))
  expect(owners.map(owner => owner.project ?? owner)).toEqual(keys.map(() => api.project.id))
})

test('a lookup that fails says nothing about the key and does not count', async () => {
  const locked = await lockedWaiters(api.pool, 'keys')
  const impatient = connect({ url: api.databaseUrl, max: 5, statementTimeoutMs: 20 })
  const authenticate = authenticator(impatient)
  try {
    const requested = Array.from({ length: 110 }, (_, n) => authenticate(`Bearer ${unknown(n)}`, '192.0.2.1').catch(error => error.code))
    expect(new Set(await Promise.all(requested))).toEqual(new Set(['57014']))
    await locked.release()
    // On a loaded machine this lookup may take longer, too.
    const known = () =>
      authenticate(`Bearer ${api.project.secret}`, '192.0.2.1').catch(error => {
        if (error.code !== '57014') throw error
      })
    expect((await until('a lookup', async () => (await known()) ?? undefined)).project).toBe(api.project.id)
  } finally {
    await locked.release()
    await impatient.end()
  }
})

test.each([
  ['the addresses of one IPv6 network count as one', (n: number) => `2001:db8::${n}`, '2001:db8:1::1'],
  ['IPv4 addresses count one by one, however they are written', () => '::ffff:192.0.2.7', '::ffff:192.0.2.8'],
])('%s', async (_what, address, other) => {
  for (let n = 0; n < 100; n++) await expect(ownerOf(unknown(n), address(n))).rejects.toEqual(refused(401))
  await expect(ownerOf(unknown(100), address(100))).rejects.toEqual(refused(429))
  await expect(ownerOf(unknown(101), other)).rejects.toEqual(refused(401))
})
