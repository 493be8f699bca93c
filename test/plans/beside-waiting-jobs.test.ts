// What is done with a few jobs must not read the jobs that wait, however many they are: a plan that takes an index for its order alone, or for
// the kind alone, reads all of them. Rows that an index scan leaves out are counted nowhere, but its pages are.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cancelRunsOf } from '../../domain/automations/automation-runs/cancel.ts'
import { listAutomationRuns } from '../../domain/automations/automation-runs/list.ts'
import { loadRuns } from '../../domain/automations/automation-runs/load.ts'
import { endRuns, recordSteps, suspendRuns } from '../../domain/automations/automation-runs/record.ts'
import { wakeWaits } from '../../domain/automations/automation-runs/wake-waits.ts'
import { nextDueUntil, pendingNow, readClock } from '../../domain/durable/clock/clock.ts'
import { lockFences, tryLockFence } from '../../domain/durable/jobs/job.ts'
import { takeLapse } from '../../domain/durable/jobs/lapse.ts'
import { releaseLeases, renewLeases } from '../../domain/durable/jobs/lease.ts'
import { deleteJobs, idIn } from '../../domain/durable/jobs/sql.ts'
import { dispatchDue, nextDue } from '../../domain/durable/jobs/sweep.ts'
import { takeBatch } from '../../domain/durable/jobs/take-batch.ts'
import { wakeLockedRuns, wakeRuns } from '../../domain/durable/jobs/wake-runs.ts'
import { consumeBatch } from '../../domain/durable/log/consume.ts'
import { listDeliveries } from '../../domain/integrations/deliveries/list.ts'
import { loadDeliveries } from '../../domain/integrations/deliveries/load.ts'
import { failDeliveriesOfRuns } from '../../domain/integrations/deliveries/run-cancelled.ts'
import { suspendDeliveries } from '../../domain/integrations/deliveries/suspend.ts'
import { countJobs } from '../../domain/oversight/ledger/counts.ts'
import { readDrift } from '../../domain/oversight/reconciliation/drift.ts'
import { CONSUMERS } from '../../domain/oversight/reconciliation/log-handlers.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { connect, type Pool, type PoolOptions, type Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET, newProject } from '../harness/api.ts'
import { type FreshDatabase, freshDatabase, SERVERS } from '../harness/database.ts'
import { explainAll } from '../harness/explained.ts'
import { fillWithWaitingJobs, WAITING } from '../harness/waiting-jobs.ts'

const KINDS = ['automation-run', 'delivery', 'subscription']
/** Jobs that each statement is about. */
const IDS = Array.from({ length: 50 }, (_, n) => WAITING / 2 + n)
/** An index is three pages deep, and a statement looks for a job up to four times, in up to two indexes, to read it, lock it and write it. */
const PAGES_OF_JOB = 24
const PAGES_BESIDE = 100

const BEGAN = '2026-03-01T00:00:00Z'
const UNDONE = new Error('undone')

/** All statements of the executor, the consumers, the sweep and the lists that concern jobs, by name. */
function statements(environment: number): Record<string, (pool: Pool) => Promise<unknown>> {
  const undone = (work: (tx: Tx) => Promise<unknown>) => (pool: Pool) =>
    transaction(pool, async tx => {
      await work(tx)
      throw UNDONE
    }).catch(error => {
      if (error !== UNDONE) throw error
    })
  const jobsOf = (kind: string, destination: number | null) => IDS.map(id => ({ kind, id, fence: 0, environment, destination }))
  const runs = jobsOf('automation-run', null)
  const deliveries = jobsOf('delivery', 1)
  const step = {
    ...{ n: 0, step_id: 'x', type: 'exit', status: 'succeeded' as const, reason: null, started_at: BEGAN, due_at: null, result: null },
    ...{ attempts: [], hasBegun: false },
  }
  const records = IDS.map(number => ({ number, fence: 0, began: BEGAN }))
  const event = { id: 'evt', partition: 70, log_offset: WAITING, user_id: 'user_8', name: 'quiet', platform: null, triggers: true }
  const window = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
  const filter = { statuses: [], user: undefined, from: undefined, to: undefined }
  const steps = [step, { ...step, hasBegun: true }]
  return {
    renew: undone(tx => renewLeases(tx, runs, 1_000)),
    release: undone(tx => releaseLeases(tx, deliveries)),
    'lock fences': undone(tx => lockFences(tx, 'delivery', deliveries)),
    'lock fence': undone(tx => tryLockFence(tx, deliveries[0]!)),
    lapse: undone(tx => takeLapse(tx, deliveries[0]!)),
    delete: undone(tx => tx.query(deleteJobs('delivery', idIn('$1::bigint[]')), [IDS])),
    wake: undone(tx => wakeRuns(tx, environment, IDS)),
    'wake locked': undone(tx =>
      wakeLockedRuns(
        tx,
        IDS.map(id => ({ id, environment, is_free: true })),
        null,
      ),
    ),
    'take batch': undone(async tx => {
      await tx.query(
        `insert into batches (kind, priority, until, ids, fences, environments, destinations)
         values ('delivery', 0, now() + interval '1 minute', $1, $2, '{}', '{}')`,
        [IDS, IDS.map(() => 0)],
      )
      const { rows } = await tx.query('select max(number) as number from batches')
      await takeBatch(tx, 'delivery', rows[0].number, 0)
    }),
    sweep: pool => dispatchDue(pool, KINDS, 1_000),
    'next due': pool => nextDue(pool, KINDS, 1_000),
    consume: async pool => {
      for (const consumer of CONSUMERS) await consumeBatch(pool, consumer, environment, { partitions: 16, perPartition: 64 })
    },
    'wake waits': undone(tx => wakeWaits(tx, environment, [{ ...event, happened_at: BEGAN, received_at: BEGAN }])),
    'load runs': pool => loadRuns(pool, records),
    'load deliveries': pool => loadDeliveries(pool, IDS),
    'record steps': undone(async tx => {
      for (const one of steps)
        await recordSteps(
          tx,
          records.map(record => ({ ...record, step: one })),
        )
    }),
    'suspend runs': undone(async tx => {
      for (const one of steps)
        await suspendRuns(
          tx,
          records.map(record => ({ ...record, step: one, status: 'waiting' as const, wakeAt: null, waitSeconds: 5 })),
        )
    }),
    'end runs': undone(async tx => {
      for (const status of ['succeeded', 'failed'] as const)
        await endRuns(
          tx,
          records.map(record => ({ ...record, step, status, reason: null })),
        )
    }),
    'suspend deliveries': pool =>
      suspendDeliveries(
        pool,
        deliveries.map(delivery => ({ ...delivery, fence: 99 })),
      ),
    'end deliveries of runs': undone(tx => failDeliveriesOfRuns(tx, IDS)),
    'cancel runs': undone(tx => cancelRunsOf(tx, environment, 'auto_700', 'automation_inactive')),
    ledger: pool =>
      countJobs(pool, environment, ['automation_runs', 'deliveries', 'exports', 'report_slots'], { ...window, now: window.to }, window),
    'list runs': pool => listAutomationRuns(pool, environment, 'auto_3', { limit: 20, after: undefined, filter }),
    'list deliveries': pool => listDeliveries(pool, environment, 'int_1', { limit: 20, after: undefined, filter: {} }),
    drift: pool => readDrift(pool),
    clock: pool => readClock(pool, environment),
    pending: pool => pendingNow(pool, environment, []),
    'next instant': pool => nextDueUntil(pool, environment, window.to),
  }
}

const POOLS: Record<string, Partial<PoolOptions>> = {
  planned: { planOnce: true, pipelined: true },
  recording: { planOnce: true, hashJoins: true },
  'of requests': {},
}
/** What the pool with hash joins is for, and requests do not do. */
const RECORDED = ['record steps', 'suspend runs', 'end runs']

describe.each(SERVERS)('on the %s Postgres', server => {
  let database: FreshDatabase
  let explained: Awaited<ReturnType<typeof explainAll>>
  let environment: number
  beforeAll(async () => {
    database = await freshDatabase(server)
    const project = await newProject(database.pool, secretsFrom(APP_SECRET))
    environment = project.sandboxEnvironment
    explained = await explainAll(database.pool, server)
    await fillWithWaitingJobs(database.pool, environment)
  }, 300_000)
  afterAll(async () => {
    await database.drop()
    explained.stop()
  })

  /** Executes each statement on each pool that has it. Gives those that read too much. */
  async function readTooMuch(): Promise<string[]> {
    const found: string[] = []
    for (const [name, options] of Object.entries(POOLS)) {
      const pool = connect({ url: database.url, max: 1, ...options })
      for (const [what, execute] of Object.entries(statements(environment))) {
        if (name !== 'planned' && RECORDED.includes(what) !== (name === 'recording')) continue
        explained.taken()
        await execute(pool)
        for (const { pages } of explained.taken().values())
          if (pages.pages > PAGES_OF_JOB * IDS.length + PAGES_BESIDE)
            found.push(`${name}, ${what}: ${pages.pages} pages\n${pages.text}\n${pages.plan}`)
      }
      await pool.end()
    }
    return found
  }

  test('no statement about some jobs reads those that wait, without statistics and with them', { timeout: 300_000 }, async () => {
    expect(await readTooMuch()).toEqual([])
    await database.pool.query('analyze')
    expect(await readTooMuch()).toEqual([])
  })
})
