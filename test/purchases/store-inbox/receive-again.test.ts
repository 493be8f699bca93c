import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi } from '../../harness/api.ts'
import { verifySigned } from '../../harness/signed-store.ts'
import { type Network, networkTo } from '../../harness/silent-network.ts'
import { inboxOf } from '../../harness/store-inbox.ts'
import { type Receiving, type Reply, SECRET, startReceiving } from './fixture.ts'

// The answers that ask a store to send a notification again.

/** Longer than a notification takes, and as long as a test of lateness waits. */
const LIMIT_MS = 1_000

let at: Receiving
beforeAll(async () => {
  at = await startReceiving(LIMIT_MS)
})
afterAll(() => at.api.stop())
beforeEach(() => at.begin())

describe('503 asks for a repeat', () => {
  const expectUnavailable = async (reply: Reply) => {
    await at.expectRefusal(reply, 503, 'storage_error', 'internal')
    expect(reply.headers.get('retry-after')).toBe('60')
  }

  test('while the store is off: the repeat after that is recorded', async () => {
    await at.configureApple()
    const enable = (enabled: boolean) =>
      at.api.pool.query('update store_configs set enabled = $2 where project = $1', [at.project().id, enabled])
    await enable(false)
    await expectUnavailable(await at.push({ id: 'n1' }))
    await enable(true)
    expect((await at.push({ id: 'n1' })).status).toBe(200)
    expect(await at.stored()).toBe(1)
  })

  test('without a secret to check with, which the client of the store tells', async () => {
    await at.configure('apple', { bundle_id: 'org.example' })
    await expectUnavailable(await at.push())
    expect(await at.counted('answer="unavailable_no_secret"')).toBeGreaterThan(0)
  })

  test('while the store is not connected, in the environment of the notification', async () => {
    await at.configure('stripe', { webhook_secret: SECRET })
    await expectUnavailable(await at.push({}, { store: 'stripe' }))
    await at.configure('stripe', { api_key: 'sk_live_1', webhook_secret: SECRET })
    await expectUnavailable(await at.push({ environment: 'sandbox' }, { store: 'stripe' }))
    expect((await at.push({}, { store: 'stripe' })).status).toBe(200)
  })

  test('from a process that does not serve the store', async () => {
    await at.configure('paddle', { api_key: 'pdl_live_1', webhook_secret: SECRET })
    await expectUnavailable(await at.push({}, { store: 'paddle' }))
  })
})

describe('504 is for what is not recorded in time', () => {
  test('when its check takes too long: it is not recorded later either', async () => {
    await at.configureApple()
    let go = () => {}
    const checked = new Promise<void>(resolve => {
      go = resolve
    })
    at.waitFor(() => checked)
    const reply = await at.push({ id: 'slow' })
    go()
    await pause(0)
    await at.expectRefusal(reply, 504, 'upstream_timeout', 'internal')
    at.waitFor(async () => {})
    expect((await at.push({ id: 'slow' })).status).toBe(200)
    expect(await at.stored()).toBe(1)
  })

  test('when the database is slow: the repeat is recorded once', async () => {
    await at.configureApple()
    const reply = await transaction(at.api.pool, async tx => {
      await tx.query('lock table store_inbox in access exclusive mode')
      return at.push({ id: 'slow' })
    })
    expect([reply.status, reply.error?.code]).toEqual([504, 'upstream_timeout'])
    expect((await at.push({ id: 'slow' })).status).toBe(200)
    expect(await at.stored()).toBe(1)
  })
})

test('502 is for a database that is away, and what is sent again afterwards is recorded', async () => {
  let network: Network | undefined
  const other = await startApi({
    stores: { verifiers: { apple: verifySigned('shared_secret') } },
    async requestPool(url) {
      network = await networkTo(url)
      return connect({ url: network.url, max: 2 })
    },
  })
  try {
    const body = { bundle_id: 'org.example', shared_secret: SECRET }
    expect((await other.call('POST', '/v4/project-settings/stores/apple', { body })).status).toBe(200)
    const sent = { url: other.url, to: other.project.id }
    expect((await at.push({}, sent)).status).toBe(200)
    await network!.end()
    const reply = await at.push({}, sent)
    expect([reply.status, reply.error?.code, reply.error?.type]).toEqual([502, 'storage_error', 'internal'])
    expect(await inboxOf(other.pool, other.project.id)).toHaveLength(1)
  } finally {
    await other.stop()
  }
})
