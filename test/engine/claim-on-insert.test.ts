import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InsertCapacity } from '../../domain/durable/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../../domain/durable/jobs/job.ts'
import { createAutomationDeliveries } from '../../domain/integrations/deliveries/create.ts'
import { insertDeliveries, type NewDelivery } from '../../domain/integrations/deliveries/insert.ts'
import { LOCK } from '../../store/advisory-locks.ts'
import { transaction } from '../../store/transaction.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { executorOn } from '../harness/executor.ts'
import { type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { until } from '../harness/until.ts'

// Jobs that a worker claims in the transaction that inserts them.

describe('while no sweep runs', () => {
  let api: TestApi
  let target: Hook
  const call: ReturnType<typeof sandbox> = (...args) => sandbox(api)(...args)
  beforeAll(async () => {
    api = await startApi({ worker: true, leaseMs: 15_000 })
    target = await hook({ call, config: { events: ['bought'] } })
    const steps = [{ id: 'tell', type: 'webhook', integration_id: target.id }]
    const data = { initiators: [{ uid: 'signed_up', type: 'event' }], actions: {}, steps }
    await must(call, 'POST', '/v4/automations', { name: 'Tell', status: 'active', data })
  })
  afterAll(async () => {
    await api.stop()
    await target.receiver.close()
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
  const runs = async () => (await api.pool.query(`select count(*)::int as inserted from due where kind = 'automation-run'`)).rows[0]
  const signUps = (count: number) =>
    post(call, ...Array.from({ length: count }, () => ({ event_name: 'signed_up', price: undefined, currency: undefined })))
  const received = (count: number) => until(`${count} requests`, () => target.receiver.events().length >= count || undefined, 20_000)

  test('an event goes all the way to the receiver: by an integration, and by an automation', async () => {
    await withoutSweeps(async () => {
      await post(call, { event_name: 'bought' })
      await received(1)
      await signUps(1)
      await received(2)
    })
    expect(target.receiver.events().map(({ body }) => body.event_name)).toEqual(['bought', 'signed_up'])
  })

  test('many at once go all the way, too, and the runs end', async () => {
    await until('earlier runs have ended', async () => (await runs()).inserted === 0 || undefined)
    await withoutSweeps(async () => {
      await signUps(25)
      await received(27)
      await until('the runs have ended', async () => (await runs()).inserted === 0 || undefined)
    })
    expect(new Set(target.receiver.events().map(({ headers }) => headers['webhook-id'])).size).toBe(27)
  })
})

describe('the capacity of an executor for an insert', () => {
  let fixture: EngineFixture
  beforeAll(async () => {
    fixture = await engineFixture()
  })
  afterAll(() => fixture.drop())

  const due = async (kind: string) =>
    (await fixture.pool.query('select id, fence, lease_until is not null as leased from due where kind = $1 order by id', [kind])).rows
  /** Inserts one job, claimed if there is capacity. */
  const insertOne =
    (kind: string, id: number, before: () => Promise<unknown> = async () => {}) =>
    async (capacity: InsertCapacity | null) => {
      await before()
      await fixture.pool.query(
        `insert into due (kind, id, environment, due_at, fence, lease_until)
       values ($1, $2, $3, environment_now($3), $4::int, case when $4 = 1 then clock_timestamp() + interval '1 minute' end)`,
        [kind, id, fixture.environment, capacity ? 1 : 0],
      )
      const claimed = { kind, id, fence: 1, environment: fixture.environment, destination: null }
      return { capacity, claimed: capacity ? [claimed] : [] }
    }
  function executing(kind: string, limits: Partial<JobHandler> = {}) {
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
    return { begun, jobs: executorOn(fixture.pool, handler), open: () => end.resolve() }
  }

  test('is used after the commit; what does not fit any more then waits for its turn', async () => {
    const { begun, jobs, open } = executing('crowded', { concurrency: 4 })
    const both = Promise.withResolvers<void>()
    let queries = 0
    const together = async () => {
      if (++queries === 2) both.resolve()
      await both.promise
    }
    const insert = (id: number, before?: () => Promise<unknown>) =>
      jobs.claimOnInsert('crowded', [fixture.environment], insertOne('crowded', id, before))
    const inserted = await Promise.all([1, 2].map(id => insert(id, together)))
    expect(inserted.map(({ capacity }) => capacity)).toEqual([1, 2].map(() => ({ most: 1, rooms: new Map(), room: 4, leaseMs: 60_000 })))
    expect(begun).toHaveLength(2)
    const third = await insert(3)
    expect(third.capacity).toBeNull()
    open()
    await jobs.stop()
  })

  test('of one destination is what others of it leave; of a project what its share leaves', async () => {
    const { begun, jobs, open } = executing('shared', { concurrency: 40, share: 1 / 4, perDestination: 8 })
    const insert = (capacity: InsertCapacity | null, claimed: ClaimedJob[]) => Promise.resolve({ capacity, claimed })
    const job = (id: number, destination: number): ClaimedJob => ({
      kind: 'shared',
      id,
      fence: 1,
      environment: fixture.environment,
      destination,
    })
    const claim = (claimed: ClaimedJob[]) => jobs.claimOnInsert('shared', [fixture.environment], capacity => insert(capacity, claimed))
    const first = await claim(Array.from({ length: 9 }, (_, id) => job(id, 7)))
    expect(first.capacity).toEqual({ most: 10, rooms: new Map(), room: 8, leaseMs: 60_000 })
    expect(begun).toHaveLength(8)
    const second = await claim([job(20, 9)])
    expect(second.capacity).toEqual({ most: 2, rooms: new Map([[7, 0]]), room: 8, leaseMs: 60_000 })
    expect(begun).toHaveLength(9)
    open()
    await jobs.stop()
  })

  test('is null for a kind that is not executed here and in a process that stops; a job that was claimed before the stop is released', async () => {
    const { begun, jobs, open } = executing('stopping')
    expect((await jobs.claimOnInsert('other', [fixture.environment], insertOne('other', 1))).capacity).toBeNull()
    open()
    await jobs.claimOnInsert(
      'stopping',
      [fixture.environment],
      insertOne('stopping', 1, () => jobs.stop()),
    )
    expect((await jobs.claimOnInsert('stopping', [fixture.environment], insertOne('stopping', 2))).capacity).toBeNull()
    expect(begun).toEqual([])
    expect(await due('stopping')).toEqual([
      { id: 1, fence: 1, leased: false },
      { id: 2, fence: 0, leased: false },
    ])
  })

  test('for deliveries: none is claimed for a full destination, and none of a paused integration', async () => {
    const numberOf = async (active: 0 | 1) => {
      const id = await storedIntegration(fixture.pool, fixture.environment, { slug: 'webhooks', active })
      const { rows } = await fixture.pool.query('update integrations set held_since = created_at where id = $1 returning number', [id])
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
    const insert = (capacity: InsertCapacity | null, ...integrations: number[]) =>
      transaction(fixture.pool, tx => insertDeliveries(tx, fixture.environment, wanted(...integrations), capacity))
    const capacity = { most: 4, rooms: new Map([[full, 0]]), room: 3, leaseMs: 60_000 }
    expect((await insert(capacity, open, full, paused, open)).map(({ destination, fence }) => [destination, fence])).toEqual([
      [open, 1],
      [open, 1],
    ])
    expect(await insert(capacity, open, open, open, open, open)).toHaveLength(3)
    expect(await insert(null, open)).toEqual([])
    const { rows } = await fixture.pool.query(
      `select destination, fence, lease_until is not null as leased, count(*)::int from due where kind = 'delivery' group by 1, 2, 3 order by 1, 2`,
    )
    expect(rows).toEqual([
      { destination: open, fence: 0, leased: false, count: 3 },
      { destination: open, fence: 1, leased: true, count: 5 },
      { destination: full, fence: 0, leased: false, count: 1 },
      { destination: paused, fence: 0, leased: false, count: 1 },
    ])
  })

  test('a delivery whose number is taken is an error, and no lost delivery; one that is there is left as it is', async () => {
    const id = await storedIntegration(fixture.pool, fixture.environment, { slug: 'webhooks', active: 1 })
    const { rows } = await fixture.pool.query<{ number: number }>('select number from integrations where id = $1', [id])
    const event = { event_name: 'bought', user_id: null, partition: 0, log_offset: 1 }
    const insert = (event_id: string) =>
      transaction(fixture.pool, tx =>
        insertDeliveries(tx, fixture.environment, [{ ...event, integration: rows[0]!.number, event_id }], null),
      )
    const create = (run: string, integrationId = id) =>
      transaction(fixture.pool, tx =>
        createAutomationDeliveries(
          tx,
          fixture.environment,
          [{ integrationId, stepId: 'tell', run: { ...event, id: run, automation_id: 'aut_1', version: 1, event_id: 'evt_1' } }],
          null,
        ),
      )
    await insert('evt_there')
    await insert('evt_there')
    const { ids } = await create('run_there')
    expect((await create('run_there')).ids).toEqual(ids)

    const behind = () =>
      fixture.pool.query(`select setval(pg_get_serial_sequence('deliveries', 'number'), (select min(number) from deliveries), false)`)
    await behind()
    await expect(insert('evt_lost')).rejects.toThrow(/^a delivery was not created .*event evt_lost/)
    await behind()
    await expect(create('run_lost')).rejects.toThrow(/^a delivery was not created .*run run_lost, step tell/)
    expect((await create('run_lost', 'int_gone')).ids).toEqual([null])
    await fixture.pool.query(`select setval(pg_get_serial_sequence('deliveries', 'number'), (select max(number) from deliveries))`)
  })
})
