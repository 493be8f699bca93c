import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { createRun, createRuns } from '../../domain/durable/jobs/workflow-run.ts'
import { createProject } from '../../domain/projects/create.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Queue } from '../../workers/queue.ts'
import { startWorker, type Worker } from '../../workers/worker.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import type { Policies } from '../../workflows/engine/policy.ts'
import type { RunContext, Workflow } from '../../workflows/engine/workflow.ts'
import { APP_SECRET } from './api.ts'
import { type FreshDatabase, freshDatabase } from './database.ts'
import { testQueue } from './queue.ts'
import { until } from './until.ts'

/** Backoff of milliseconds, so that no test waits for a retry. */
export const QUICK: Policies = {
  delivery: { waits: [0.02, 0.02, 0.02, 0.02, 0.02, 0.02], attemptLimitMs: 5_000 },
  step: { waits: [0.02, 0.02, 0.02, 0.02], attemptLimitMs: 5_000 },
}

export type EngineFixture = FreshDatabase & {
  environment: number
  otherEnvironment: number
  /** Starts a worker with its own queue, unless `queue` is given. */
  work(workflows: Workflow[], options?: { leaseMs?: number; policies?: Policies; queue?: Queue }): Promise<Worker>
  begin(kind: string, subject: string, options?: { afterSeconds?: number; environment?: number }): Promise<number>
  /** So many runs in one transaction. Returns their ids. */
  beginMany(kind: string, count: number, environment: number): Promise<number[]>
  ended(run: number, ms?: number): Promise<{ status: string; reason: string | null }>
  steps(run: number): Promise<Record<string, unknown>[]>
  /** Moves the environment's clock ahead. */
  advance(seconds: number, environment?: number): Promise<void>
  /** Stops the workers and removes all runs and jobs: for the next test on the same database. */
  clear(): Promise<void>
}

export const workflow = (kind: string, run: (context: RunContext) => Promise<void>, rest: Partial<Workflow> = {}): Workflow => ({
  kind,
  version: 1,
  concurrency: 8,
  run,
  failed: async (_tx: Tx) => {},
  ...rest,
})

/** A database with one project. Tests start workers on it. */
export async function engineFixture(): Promise<EngineFixture> {
  const database = await freshDatabase()
  const { pool, url } = database
  const project = await transaction(pool, tx => createProject(tx, secretsFrom(APP_SECRET), { name: 'Engine' }))
  const { rows } = await pool.query<{ id: number }>('select id from environments where project = $1 order by id', [project.id])
  const [environment, otherEnvironment] = rows.map(row => row.id) as [number, number]
  const workers: Worker[] = []
  const stopWorkers = () => Promise.all(workers.splice(0).map(worker => worker.stop()))
  return {
    ...database,
    environment,
    otherEnvironment,
    async work(workflows, { leaseMs = 1000, policies = QUICK, queue } = {}) {
      const worker = await startWorker({
        pool,
        url,
        queue: queue ?? (await testQueue(url)),
        handlers: workflowHandlers(workflows, { pool, policies }),
        leaseMs,
        log: pino({ level: 'silent' }),
      })
      let stopped: Promise<void> | undefined
      const once = {
        stop: () => {
          stopped ??= worker.stop()
          return stopped
        },
      }
      workers.push(once)
      return once
    },
    begin: (kind, subject, { afterSeconds = 0, environment: where = environment } = {}) =>
      transaction(pool, tx => createRun(tx, where, { workflow: kind, version: 1, subject, afterSeconds })),
    beginMany: (kind, count, where) =>
      transaction(pool, async tx => {
        const subjects = Array.from({ length: count }, () => randomUUID())
        await createRuns(tx, where, { workflow: kind, version: 1 }, subjects)
        const { rows } = await tx.query<{ id: number }>('select id from runs where subject = any ($1) order by id', [subjects])
        return rows.map(({ id }) => id)
      }),
    ended: (run, ms) =>
      until(
        `end of run ${run}`,
        async () => {
          const found = await pool.query<{ status: string; reason: string | null }>(
            `select status, reason from runs where id = $1 and status in ('succeeded', 'failed')`,
            [run],
          )
          return found.rows[0]
        },
        ms,
      ),
    steps: async run =>
      (
        await pool.query('select name, status, result, jsonb_array_length(attempts) as attempts from steps where run = $1 order by n', [
          run,
        ])
      ).rows,
    async advance(seconds, target = environment) {
      await pool.query('update environments set clock_offset = clock_offset + make_interval(secs => $2) where id = $1', [target, seconds])
    },
    async clear() {
      await stopWorkers()
      await pool.query('delete from batches; delete from due; delete from steps; delete from runs')
    },
    async drop() {
      await stopWorkers()
      await database.drop()
    },
  }
}
