import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertDeliveries, type NewDelivery } from '../../domain/deliveries/insert.ts'
import type { InsertCapacity } from '../../domain/jobs/claim-on-insert.ts'
import { LOCK } from '../../store/advisory-locks.ts'
import { transaction } from '../../store/transaction.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { executorOn } from '../harness/executor.ts'
import { type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { until } from '../harness/until.ts'

// Promises that a worker claims in the transaction that makes them.

describe('while no sweep comes to look', () => {
  let api: TestApi
  let made: Hook
  const call: ReturnType<typeof sandbox> = (...args) => sandbox(api)(...args)
  beforeAll(async () => {
    api = await startApi({ worker: true, leaseMs: 15_000 })
    made = await hook({ call, config: { events: ['bought'] } })
    const steps = [{ id: 'tell', type: 'webhook', integration_id: made.id }]
    const data = { initiators: [{ uid: 'signed_up', type: 'event' }], actions: {}, steps }
    await must(call, 'POST', '/v4/automations', { name: 'Tell', status: 'active', data })
  })
  afterAll(async () => {
    await api.stop()
    await made.receiver.close()
  })

  async function withoutSweeps(work: () => Promise<void>): Promise<void> {
    const tx = await api.pool.connect()
    try {
      await tx.query('select pg_advisory_lock($1, 0)', [LOCK.sweep])
      await work()
    } finally {
      await tx.query('select pg_advisory_unlock_all()')
      tx.release()
    }
  }
  const runs = async () =>
    (
      await api.pool.query(
        `select count(*)::int as made, count(lease_until)::int as leased, max(fence) as fence from due where kind = 'automation-run'`,
      )
    ).rows[0]
  const signUps = (count: number) =>
    post(call, ...Array.from({ length: count }, () => ({ event_name: 'signed_up', price: undefined, currency: undefined })))
  const received = (count: number) => until(`${count} requests`, () => made.receiver.events().length >= count || undefined, 20_000)

  test('an event goes all the way to the receiver: by an integration, and by an automation', async () => {
    await withoutSweeps(async () => {
      await post(call, { event_name: 'bought' })
      await received(1)
      await signUps(1)
      await received(2)
    })
    expect(made.receiver.events().map(({ body }) => body.event_name)).toEqual(['bought', 'signed_up'])
  })

  test('what is more than a handful is left for all workers', async () => {
    await until('earlier runs have ended', async () => (await runs()).made === 0 || undefined)
    await withoutSweeps(async () => {
      await signUps(25)
      const made = await until('they are made', async () => ((await runs()).made < 25 ? undefined : runs()))
      expect(made).toEqual({ made: 25, leased: 0, fence: 0 })
    })
    await received(27)
    expect(new Set(made.receiver.events().map(({ headers }) => headers['webhook-id'])).size).toBe(27)
  })
})

describe('what a holder is told it has room for', () => {
  let bench: EngineFixture
  beforeAll(async () => {
    bench = await engineFixture()
  })
  afterAll(() => bench.drop())

  const due = async (kind: string) =>
    (await bench.pool.query('select id, fence, lease_until is not null as leased from due where kind = $1 order by id', [kind])).rows
  /** Makes one promise, claimed if there is room. */
  const makeOne =
    (kind: string, id: number, before: () => Promise<unknown> = async () => {}) =>
    async (room: InsertCapacity | null) => {
      await before()
      await bench.pool.query(
        `insert into due (kind, id, environment, due_at, fence, lease_until)
       values ($1, $2, $3, environment_now($3), $4::int, case when $4 = 1 then clock_timestamp() + interval '1 minute' end)`,
        [kind, id, bench.environment, room ? 1 : 0],
      )
      const claimed = { kind, id, fence: 1, environment: bench.environment, destination: null }
      return { room, claimed: room ? [claimed] : [] }
    }
  function performing(kind: string, limits: Partial<JobHandler> = {}) {
    const begun: number[] = []
    const end = Promise.withResolvers<void>()
    const handler: JobHandler = {
      kind,
      concurrency: 100,
      ...limits,
      async handle({ id }) {
        begun.push(id)
        await end.promise
        return { is: 'lost' }
      },
    }
    return { begun, holding: executorOn(bench.pool, handler), open: () => end.resolve() }
  }

  test('is held once it is made; whoever finds the room taken then gives back what it has made', async () => {
    const { begun, holding, open } = performing('crowded', { perEnvironment: 1 })
    const both = Promise.withResolvers<void>()
    let asking = 0
    const together = async () => {
      if (++asking === 2) both.resolve()
      await both.promise
    }
    const made = await Promise.all([1, 2].map(id => holding.claimOnInsert('crowded', bench.environment, makeOne('crowded', id, together))))
    expect(made.map(({ room }) => room)).toEqual([1, 2].map(() => ({ most: 1, fullDestinations: [], leaseMs: 60_000 })))
    expect(begun).toHaveLength(1)
    expect(await due('crowded')).toEqual([1, 2].map(id => ({ id, fence: 1, leased: id === begun[0] })))
    const third = await holding.claimOnInsert('crowded', bench.environment, makeOne('crowded', 3))
    expect(third.room).toBeNull()
    open()
    await holding.stop()
  })

  test('is nothing for a kind that is not turned here, or a process that stops; what it was told before, it gives back', async () => {
    const { begun, holding, open } = performing('stopping')
    expect((await holding.claimOnInsert('other', bench.environment, makeOne('other', 1))).room).toBeNull()
    open()
    await holding.claimOnInsert(
      'stopping',
      bench.environment,
      makeOne('stopping', 1, () => holding.stop()),
    )
    expect((await holding.claimOnInsert('stopping', bench.environment, makeOne('stopping', 2))).room).toBeNull()
    expect(begun).toEqual([])
    expect(await due('stopping')).toEqual([
      { id: 1, fence: 1, leased: false },
      { id: 2, fence: 0, leased: false },
    ])
  })

  test('of deliveries: none to a destination without room, and none that is held', async () => {
    const numberOf = async (active: 0 | 1) => {
      const id = await storedIntegration(bench.pool, bench.environment, { slug: 'webhooks', active })
      const { rows } = await bench.pool.query('update integrations set held_since = created_at where id = $1 returning number', [id])
      return rows[0].number as number
    }
    const [open, full, paused] = [await numberOf(1), await numberOf(1), await numberOf(0)]
    const wanted = (...integrations: number[]): NewDelivery[] =>
      integrations.map((integration, i) => ({
        integration,
        event_id: `evt_${integration}_${i}_${integrations.length}`,
        event_name: 'bought',
        user_id: null,
        partition: 0,
        log_offset: i,
      }))
    const insert = (room: InsertCapacity | null, ...integrations: number[]) =>
      transaction(bench.pool, tx => insertDeliveries(tx, bench.environment, wanted(...integrations), room))
    const room = { most: 4, fullDestinations: [full], leaseMs: 60_000 }
    expect((await insert(room, open, full, paused, open)).map(({ destination, fence }) => [destination, fence])).toEqual([
      [open, 1],
      [open, 1],
    ])
    expect(await insert(room, open, open, open, open, open)).toEqual([])
    expect(await insert(null, open)).toEqual([])
    const { rows } = await bench.pool.query(
      `select destination, fence, lease_until is not null as leased, count(*)::int from due where kind = 'delivery' group by 1, 2, 3 order by 1, 2`,
    )
    expect(rows).toEqual([
      { destination: open, fence: 0, leased: false, count: 6 },
      { destination: open, fence: 1, leased: true, count: 2 },
      { destination: full, fence: 0, leased: false, count: 1 },
      { destination: paused, fence: 0, leased: false, count: 1 },
    ])
  })
})
