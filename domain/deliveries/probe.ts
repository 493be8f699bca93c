import type { Db, Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import { announceJobs, deleteJob, lockIfDue } from '../jobs/job.ts'
import { insertJobs, rescheduleJobs, suspendJobs } from '../jobs/sql.ts'
import { DELIVERY_DUE } from './delivery.ts'

/** Kind of the job that probes an integration in error. Its id is the integration's number. */
export const PROBE_DUE = 'integration-probe'

const PROBE_INTERVAL = `interval '5 minutes'`

/** In SQL: inserts a probe job, due in five minutes, for each `integration` that `selected` gives and that has none. */
export const scheduleProbeSql = (selected: string, environment: string): string =>
  insertJobs({
    kind: PROBE_DUE,
    id: 'integration',
    environment,
    dueAt: `environment_now(${environment}) + ${PROBE_INTERVAL}`,
    from: `(${selected}) s`,
    ifExists: 'keep',
  })

/** Schedules probes of integrations that are in error and have an open delivery. */
export const scheduleProbe = (db: Db, environment: Environment, integrations: number[]): Promise<unknown> =>
  db.query({
    name: 'schedule-probe',
    text: scheduleProbeSql('select unnest($2::int[]) as integration', '$1'),
    values: [environment, integrations],
  })

export const endProbes = (db: Db, integration: number): Promise<unknown> => deleteJob(db, PROBE_DUE, integration)

/**
 * Makes the oldest open delivery due as a probe and schedules the next probe. The delivery is sent through its own job, so no second worker
 * can send it. Without an open delivery the probes end: the next delivery that is created schedules one.
 */
export const probeOldest = (pool: Pool, integration: number): Promise<unknown> =>
  transaction(pool, async tx => {
    const locked = await tx.query<{ environment: Environment }>(
      'select environment from integrations where number = $1 and active = 2 and is_probed and deleted_at is null for no key update',
      [integration],
    )
    const environment = locked.rows[0]?.environment
    if (environment === undefined) return endProbes(tx, integration)
    // A batch may arrive late, after another worker has probed.
    if (!(await lockIfDue(tx, PROBE_DUE, integration))) return
    const { rows } = await tx.query<{ number: number }>(
      `select v.number from deliveries v join due d on d.kind = '${DELIVERY_DUE}' and d.id = v.number
       where v.integration = $1 and v.status in ('pending', 'retrying') order by v.number limit 1`,
      [integration],
    )
    const oldest = rows[0]?.number
    if (oldest === undefined) return endProbes(tx, integration)
    await tx.query('update integrations set probing = $2 where number = $1', [integration, oldest])
    const isDueLater = 'd.id = $1 and d.due_at > environment_now($2)'
    await tx.query(rescheduleJobs({ kind: DELIVERY_DUE, dueAt: 'environment_now($2)', where: isDueLater }), [oldest, environment])
    await tx.query(suspendJobs({ kind: PROBE_DUE, dueAt: `environment_now($2) + ${PROBE_INTERVAL}`, where: 'd.id = $1' }), [
      integration,
      environment,
    ])
    await announceJobs(tx, DELIVERY_DUE)
  })
