import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { inTurn } from '../harness/effort.ts'
import { DRIVERS, type Installation, startInstallation } from '../harness/installation.ts'
import { type Hook, hook, post } from '../harness/integrations.ts'
import { startPostgres, type TestPostgres } from '../harness/postgres-server.ts'
import { OK } from '../harness/receiver.ts'
import { until } from '../harness/until.ts'

// A server restarts, and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

/** So many requests at least are answered while the database is away: as many as one worker sends to one integration. */
const UNDER_WAY = 32
/** More than the requests under way, so that some are sent as soon as the database is back. */
const EVENTS = 100

describe.each(inTurn(DRIVERS))('answers that come while the database is away, over %s', driver => {
  let postgres: TestPostgres
  let installation: Installation
  let to: Hook
  let round = 0
  beforeAll(async () => {
    postgres = await startPostgres()
    installation = await startInstallation({ driver, database: postgres, leaseSeconds: 8, isSandbox: true })
    to = await hook({ call: installation.sandbox, config: { events: ['*'] } })
    await Promise.all([installation.worker(), installation.worker()])
  })
  afterAll(async () => {
    await to?.receiver.close()
    await installation?.end()
  })

  /** `outage` gets what answers all requests, and resolves when the database is back. Afterwards each event must have been received once. */
  async function answeredDuring(outage: (answer: () => void) => Promise<unknown>): Promise<void> {
    const { receiver } = to
    const open: ServerResponse[] = []
    receiver.received.length = 0
    installation.sink.received.length = 0
    receiver.otherwise = { act: response => void open.push(response) }
    const name = `round-${round++}`
    await post(installation.sandbox, ...Array.from({ length: EVENTS }, (_, i) => ({ identity_id: `p${i}`, event_name: name })))
    await until('requests under way', async () => open.length >= UNDER_WAY || undefined)
    await outage(() => {
      receiver.otherwise = OK
      for (const response of open) response.writeHead(200).end('taken')
    })
    const delivered = await until(
      'all deliveries',
      async () => {
        const { rows } = await postgres.pool.query(
          `select id, (select count(*)::int from jsonb_array_elements(attempts) a where a ->> 'duration_ms' is not null) as sent
           from deliveries where event_name = $1 and status = 'delivered' order by id collate "C"`,
          [name],
        )
        return rows.length === 2 * EVENTS ? rows : undefined
      },
      60_000,
    )
    // The other integration answers at once: it is the load beside.
    const ids = [
      ...receiver.events().map(({ headers }) => headers['webhook-id'] as string),
      ...installation.sink.received.map(({ id }) => id),
    ]
    expect(ids).toHaveLength(2 * EVENTS)
    // On a busy machine a claim may lapse before its request is sent: such an attempt is told, and has no duration.
    expect(delivered).toEqual(ids.sort().map(id => ({ id, sent: 1 })))
  }

  test.each([
    ['a fast restart', 'SIGINT'],
    ['an immediate restart', 'SIGQUIT'],
  ] as const)('%s sends nothing again', (_name, signal) =>
    answeredDuring(async answer => {
      const restarted = postgres.crash(signal)
      answer()
      await restarted
    }))

  test('a database that takes too few connections makes no worker send again', () =>
    answeredDuring(async answer => {
      await postgres.limitConnections(2)
      answer()
      await until('the last answers', async () => (await postgres.refusals()) > 20 || undefined)
      await postgres.limitConnections(null)
    }))

  test('leases that run out meanwhile are renewed before another worker claims their jobs', () =>
    answeredDuring(async answer => {
      await postgres.limitConnections(0)
      answer()
      await until('the end of the leases', async () => (await postgres.liveLeases()) === 0 || undefined)
      await postgres.limitConnections(null)
    }))
})
