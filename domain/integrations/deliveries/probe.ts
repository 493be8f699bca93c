import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { announceJobs, deleteJob, lockIfDue } from '../../durable/jobs/job.ts'
import { insertJobs, rescheduleJobs, suspendJobs } from '../../durable/jobs/sql.ts'
import type { Environment } from '../../kernel/environment.ts'
import { DELIVERY_DUE, expiry } from './delivery.ts'

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

// The held jobs of an integration, the newest first. Only the first delivery of an ordering key has a job, so each job is of another user,
// and the deliveries that wait for it are not read. First the jobs that came after the newest probe, then those that are older than the
// last one, then from the newest again.
const heldSql = (condition: string) => `
  select h.id from (values (0), (1)) p(priority) cross join lateral (
    select id, due_at from due
    where kind = '${DELIVERY_DUE}' and priority = p.priority and environment = $2 and coalesce(destination, 0) = $1 and ${condition}
    order by due_at desc, id desc limit 1) h`
const NEXT_HELD = `
  with behind as (
    select v.priority, ${expiry('v.created_at')} as due_at, v.number from deliveries v join integrations i on i.number = v.integration where v.number = $3
  )
  select coalesce(
    (select max(id) from (${heldSql('true')}) newest where $4::bigint is null or id > $4),
    (${heldSql(`(due_at, id) < (
        coalesce((select due_at from behind where priority = p.priority), 'infinity'), coalesce((select number from behind where priority = p.priority), 0))`)}
      where p.priority >= (select priority from behind) order by p.priority limit 1),
    (${heldSql('true')} order by p.priority limit 1)) as id`

type Probed = { environment: Environment; failed_probe: number | null; newest_probe: number | null }

/** The delivery to probe. One success ends the error, so each probe uses another user, and a new event does not wait for those that were refused. */
async function deliveryToProbe(tx: Tx, integration: number, { environment, ...last }: Probed): Promise<number | null> {
  const { rows } = await tx.query<{ id: number | null }>({
    name: 'next-held-delivery',
    text: NEXT_HELD,
    values: [integration, environment, last.failed_probe, last.newest_probe],
  })
  return rows[0]!.id
}

/**
 * Makes a held delivery due as a probe and schedules the next probe. The delivery is sent through its own job, so no second worker can send
 * it. Without an open delivery the probes end, under the lock that creators of deliveries wait for: the next delivery that is created schedules one.
 */
export const probeHeld = (pool: Pool, integration: number): Promise<unknown> =>
  transaction(pool, async tx => {
    const { rows } = await tx.query<Probed>(
      `select environment, failed_probe, newest_probe from integrations
       where number = $1 and active = 2 and is_probed and deleted_at is null for update`,
      [integration],
    )
    const [probed] = rows
    if (!probed) return endProbes(tx, integration)
    // A batch may arrive late, after another worker has probed.
    if (!(await lockIfDue(tx, PROBE_DUE, integration))) return
    const { environment } = probed
    const delivery = await deliveryToProbe(tx, integration, probed)
    if (delivery === null) return endProbes(tx, integration)
    await tx.query('update integrations set probing = $2, newest_probe = greatest(newest_probe, $2) where number = $1', [
      integration,
      delivery,
    ])
    const isDueLater = 'd.id = $1 and d.due_at > environment_now($2)'
    await tx.query(rescheduleJobs({ kind: DELIVERY_DUE, dueAt: 'environment_now($2)', where: isDueLater }), [delivery, environment])
    await tx.query(suspendJobs({ kind: PROBE_DUE, dueAt: `environment_now($2) + ${PROBE_INTERVAL}`, where: 'd.id = $1' }), [
      integration,
      environment,
    ])
    announceJobs(tx, DELIVERY_DUE)
  })
