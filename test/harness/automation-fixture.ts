import { pino } from 'pino'
import type { Step } from '../../domain/automations/automation-runs/definition.ts'
import { wakeWaits } from '../../domain/automations/automation-runs/wake-waits.ts'
import { type LogEvent, lockConsumer } from '../../domain/durable/log/consumer.ts'
import { partitionOf } from '../../domain/durable/log/partition.ts'
import { markUnread } from '../../domain/durable/log/unread.ts'
import { orderedId, userId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'
import { startWorker } from '../../workers/worker.ts'
import { type AutomationOptions, automationHandler } from '../../workflows/automation/handler.ts'
import type { Effects } from '../../workflows/automation/step-kind.ts'
import { type EngineFixture, engineFixture, QUICK } from './engine-fixture.ts'
import { testQueue } from './queue.ts'
import { storedAutomation } from './stored-automation.ts'
import { until } from './until.ts'

export type RunRow = {
  number: number
  id: string
  status: string
  reason: string | null
  current_step: string | null
  due_at: string | null
  started_at: string | null
  finished_at: string | null
}
export type TimelineRow = {
  step_id: string
  type: string
  status: string
  reason: string | null
  started_at: string
  finished_at: string | null
  due_at: string | null
  result: Record<string, unknown> | null
  attempts: { number: number; error: string | null }[]
}
export type Appended = LogEvent & { id: string }

export const NO_EFFECTS: Effects = {
  sendEmail: () => Promise.reject(new Error('no e-mail was expected')),
  sendPush: () => Promise.reject(new Error('no push was expected')),
}

/** An engine fixture with users, a log, and automation runs that the test starts. */
export async function automationFixture() {
  const fixture: EngineFixture = await engineFixture()
  const { pool, environment } = fixture
  await transaction(pool, tx => lockConsumer(tx, 'automations', environment))

  /** Appends an event as the product does, with the next offset of its partition. `beforeCommit` runs just before the commit. */
  async function append(
    user: string | null,
    name: string,
    { triggers = true, properties = {}, beforeCommit = async () => {} } = {},
  ): Promise<Appended> {
    const id = orderedId('evt')
    const partition = partitionOf(environment, user ?? id)
    return transaction(pool, async tx => {
      const { rows } = await tx.query<{ log_offset: number; received_at: string }>(
        `update log_positions set next_offset = next_offset + 1, last_received_at = greatest(last_received_at, environment_now($1))
         where environment = $1 and partition = $2 returning next_offset - 1 as log_offset, last_received_at::text as received_at`,
        [environment, partition],
      )
      const { log_offset, received_at } = rows[0]!
      await tx.query(
        `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at, triggers, properties)
         values ($1, $2, $3, $4, $4, $5, $6, $7, $7, $8, $9)`,
        [environment, partition, log_offset, id, name, user, received_at, triggers, JSON.stringify(properties)],
      )
      await markUnread(tx, environment)
      await beforeCommit()
      return { partition, log_offset, id, name, user_id: user, platform: null, happened_at: received_at, received_at, triggers }
    })
  }

  /** Reads up to `most` events of the partition and wakes the runs that wait for them, as the log consumer does. */
  const consume = (partition: number, most = 1000): Promise<number> =>
    transaction(pool, async tx => {
      const position = await tx.query<{ next_offset: number }>(
        `select next_offset from log_consumers where consumer = 'automations' and environment = $1 and partition = $2 for no key update`,
        [environment, partition],
      )
      const { rows } = await tx.query<LogEvent>(
        `select partition, log_offset, id, name, user_id, platform, happened_at::text as happened_at, received_at::text as received_at, triggers
         from events where environment = $1 and partition = $2 and log_offset >= $3 order by log_offset limit $4`,
        [environment, partition, position.rows[0]!.next_offset, most],
      )
      if (rows.length === 0) return 0
      await wakeWaits(tx, environment, rows)
      await tx.query(`update log_consumers set next_offset = $3 where consumer = 'automations' and environment = $1 and partition = $2`, [
        environment,
        partition,
        rows.at(-1)!.log_offset + 1,
      ])
      return rows.length
    })

  async function newUser(properties: Record<string, string> = {}): Promise<string> {
    const id = userId()
    await pool.query(
      `insert into users (environment, id, created_at, last_seen_at, properties) select $1, $2, t, t, $3 from environment_now($1) t`,
      [environment, id, JSON.stringify(properties)],
    )
    return id
  }

  /** Starts a run of these steps by an event of the user. */
  async function start(steps: Step[], { user, automation, event }: { user?: string; automation?: string; event?: Appended } = {}) {
    const owner = user ?? (await newUser())
    const trigger = event ?? (await append(owner, 'trial_started'))
    const id =
      automation ??
      (await storedAutomation(pool, environment, 'active', {
        type: 'event',
        platform: null,
        initiators: [{ uid: '1', type: 'event' }],
        actions: {},
        segments: null,
        reentry: true,
        steps,
      }))
    const { rows } = await pool.query<{ number: number }>(
      `with inserted as (
         insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
           log_offset, position, created_at, due_at)
         select $1, $2, $3, 1, $4, $5, $6, $7, $7, $8, $9, $9, t, t from environment_now($1) t returning number, due_at
       ), queued as (insert into due (kind, id, environment, due_at) select 'automation-run', number, $1, due_at from inserted)
       select number, pg_notify('due', 'automation-run') from inserted`,
      [
        environment,
        orderedId('run'),
        id,
        trigger.user_id,
        trigger.id,
        trigger.name,
        trigger.received_at,
        trigger.partition,
        trigger.log_offset,
      ],
    )
    return { number: rows[0]!.number, automation: id, user: owner, trigger }
  }

  const run = async (number: number): Promise<RunRow> =>
    (await pool.query<RunRow>('select * from automation_runs where number = $1', [number])).rows[0]!

  const workers: { stop(): Promise<void> }[] = []

  return {
    ...fixture,
    append,
    consume,
    newUser,
    start,
    run,
    timeline: async (number: number): Promise<TimelineRow[]> =>
      (await pool.query<TimelineRow>('select * from automation_steps where run = $1 order by n', [number])).rows,
    /** Starts a worker for automation runs. */
    startWorker: async (options: Partial<AutomationOptions> = {}, leaseMs = 1000) => {
      const worker = await startWorker({
        pool,
        url: fixture.url,
        queue: await testQueue(fixture.url),
        handlers: [automationHandler({ pool, effects: NO_EFFECTS, policy: QUICK.step, ...options })],
        leaseMs,
        log: pino({ level: process.env.TEST_LOG ?? 'silent' }),
      })
      workers.push(worker)
      return worker
    },
    finished: (number: number) =>
      until(`end of run ${number}`, async () => {
        const row = await run(number)
        return row.finished_at === null ? undefined : row
      }),
    suspended: (number: number) =>
      until(`wait of run ${number}`, async () => {
        const row = await run(number)
        return row.status === 'waiting' ? row : undefined
      }),
    async drop() {
      await Promise.all(workers.map(worker => worker.stop()))
      await fixture.drop()
    },
  }
}
export type AutomationFixture = Awaited<ReturnType<typeof automationFixture>>
