import { parse } from 'csv-parse/sync'
import { pino } from 'pino'
import { replaceFile } from '../../domain/reporting/exports/rewrite.ts'
import type { FileStorage } from '../../store/files/storage.ts'
import { transaction } from '../../store/transaction.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import { startWorker, type Worker } from '../../workers/worker.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import { eraseExport } from '../../workflows/export/erase.ts'
import { exportWorkflow } from '../../workflows/export/export.ts'
import { exportRetention } from '../../workflows/export/retention.ts'
import { clearAway, rewriteFile } from '../../workflows/export/rewrite-file.ts'
import { startApi } from './api.ts'
import { QUICK } from './engine-fixture.ts'
import { eraseUser, filesWith } from './erasure.ts'
import { item } from './events.ts'
import type { Exported } from './exports.ts'
import { tracesOf } from './traces.ts'

export const PEOPLE = ['anna', 'ben', 'carl', 'dora']

export const usersIn = async (url: string, column = 'User ID'): Promise<string[]> =>
  [...new Set((parse(await (await fetch(url)).text(), { columns: true }) as Record<string, string>[]).map(row => row[column]!))].sort()

export type Erasing = Awaited<ReturnType<typeof startErasing>>

/** An API whose project has ten events of each of four people. `work` starts a worker of exports, their retention and erasures, `rest` stops it. */
export async function startErasing() {
  const api = await startApi()
  const environment = api.project.production
  const events = Array.from({ length: 40 }, (_, i) => item({ identity_id: PEOPLE[i % 4], device: { country: 'DE' } }))
  await api.call('POST', '/v4/events', { body: { events } })
  const { rows } = await api.pool.query<{ name: string; id: string }>('select identity_id as name, id from users')
  const ids: Record<string, string> = Object.fromEntries(rows.map(({ name, id }) => [name, id]))
  let worker: Worker | undefined

  async function rest(): Promise<void> {
    await worker?.stop()
    worker = undefined
  }

  /** The ids of all runs that erase from an export, oldest first. */
  const runsOf = async () =>
    (await api.pool.query<{ id: number }>(`select id from runs where workflow = 'erase-export' order by id`)).rows.map(row => row.id)

  async function rewriting(file: string, run: number) {
    const options = { pool: api.pool, storage: api.storage, secrets: api.secrets, environment, file }
    const made = (await rewriteFile({ ...options, mark: `${run}-1.1`, signal: new AbortController().signal }))!
    return {
      made,
      replace: () => transaction(api.pool, tx => replaceFile(tx, environment, file, made)),
      clear: () => clearAway({ ...options, run, replaced: made.replaced }),
    }
  }

  return {
    api,
    environment,
    ids,
    rest,
    runsOf,
    rewriting,
    async work(changes: Partial<FileStorage> = {}, partRows = 4): Promise<void> {
      const { pool } = api
      const storage = { ...api.storage, ...changes }
      worker = await startWorker({
        pool,
        url: api.databaseUrl,
        queue: await pgBossQueue({ url: api.databaseUrl, onError: () => {} }),
        handlers: workflowHandlers(
          [exportWorkflow({ pool, storage, partRows }), exportRetention({ storage }), eraseExport({ pool, storage, secrets: api.secrets })],
          {
            pool,
            policies: QUICK,
          },
        ),
        leaseMs: 1000,
        log: pino({ level: 'silent' }),
      })
    },
    /** Rewrites the file and removes the former one. */
    async erase(name: string, { object }: Exported): Promise<void> {
      await eraseUser(api.pool, environment, ids[name]!)
      const run = await rewriting(object.id, (await runsOf()).at(-1)!)
      if (!(await run.replace())) throw new Error('another run has replaced the file')
      await run.clear()
    },
    /** The files and rows in which the id still occurs. */
    tracesLeft: async (id: string): Promise<unknown[]> => [...(await filesWith(api.files, id)), ...(await tracesOf(api.pool, id))],
    async stop(): Promise<void> {
      await rest()
      await api.stop()
    },
  }
}
