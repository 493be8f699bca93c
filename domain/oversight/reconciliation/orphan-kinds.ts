import type { Tx } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import { CANCEL_DUE } from '../../automations/automation-runs/cancel.ts'
import { RUN_RELEASE_DUE } from '../../automations/automation-runs/release.ts'
import { UNFINISHED_RUN } from '../../automations/automation-runs/run.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { DELIVERY_DUE, firstDue, OPEN_DELIVERY } from '../../integrations/deliveries/delivery.ts'
import { DELETION_DUE } from '../../integrations/deliveries/fail-pending.ts'
import { nextTurnOfQueue, STORE_QUEUE_DUE } from '../../purchases/store-inbox/queues.ts'
import { IS_ORPHANED_EXPORT, repairExports } from '../../reporting/exports/orphans.ts'
import { IS_ORPHANED_REPORT_RUN, repairReportRuns } from '../../reporting/reports/orphans.ts'
import { REPORT_SLOT_DUE } from '../../reporting/reports/report.ts'

/** How the scan for orphans reads and repairs one kind of rows. */
export type OrphanKind = {
  kind: string
  /** Reads the next `$1` unfinished rows after the cursor. */
  scan: string
  /** A cursor before the first row. */
  start: unknown[]
  repair: string | ((tx: Tx, ids: string[]) => Promise<number>)
}

const hasNoJob = (kind: string, id: string) => `not exists (select 1 from due d where d.kind = ${kind} and d.id = ${id})`

/** `columns`: those of the cursor. `isOrphan`: a condition on the row `s`. */
const scanSql = (columns: string[], from: string, isOrphan: string, id: string) => `
  select coalesce(array_agg(${id} order by ${id}) filter (where ${isOrphan}), '{}') as ids, count(*)::int as read,
    (array_agg(jsonb_build_array(${columns.join(', ')}) order by ${columns.map(c => `${c} desc`).join(', ')}))[1] as last
  from (select * from ${from} order by ${columns.join(', ')} limit $1) s`

type OrphanRows = {
  /** Kind, id, environment, due time and, unless it is none, the destination of the job of a row. */
  job: [kind: string, id: string, environment: string, dueAt: string, destination?: string]
  table: string
  key: string
  /** The table that is locked, where a statement joins several. */
  of?: string
  where?: string
}

/** Locks the rows whose keys are `$1` and selects the jobs that they lack. */
const lockOrphans = ({ job: [kind, id, environment, dueAt, destination = 'null::int'], of, ...rows }: OrphanRows): string =>
  lockInOrder({
    ...rows,
    keys: '$1::bigint[]',
    columns: `${kind}, ${id} as id, ${environment} as environment, ${dueAt} as due_at, ${destination} as destination`,
    strength: of === undefined ? 'update' : `update of ${of}`,
  })

/** Scans the runs after those that are noted in blocks. */
export const AUTOMATION_RUNS: OrphanKind = {
  kind: AUTOMATION_RUN_DUE,
  start: [0],
  scan: scanSql(
    ['number'],
    'automation_runs where number > $2::bigint',
    `s.status in ${UNFINISHED_RUN} and ${hasNoJob(`'${AUTOMATION_RUN_DUE}'`, 's.number')}`,
    'number',
  ),
  repair: lockOrphans({
    job: [`'${AUTOMATION_RUN_DUE}'`, 'number', 'environment', 'coalesce(due_at, environment_now(environment))'],
    ...{ table: 'automation_runs', key: 'number', where: `status in ${UNFINISHED_RUN}` },
  }),
}

export const hasOrderingKey = (d: string) => `${d}.source = 'event' and ${d}.user_id is not null`
/** Whether a delivery of the same ordering key has a job: the deliveries behind it have none. */
const followsAnother = (d: string) => `${hasOrderingKey(d)} and exists (
  select 1 from deliveries o join due p on p.kind = '${DELIVERY_DUE}' and p.id = o.number
  where o.integration = ${d}.integration and o.user_id = ${d}.user_id and o.source = 'event' and o.status in ${OPEN_DELIVERY})`

/** Only the first delivery of an ordering key gets a job. The job of a deleted integration fails the open deliveries; they have no jobs then. */
export const DELIVERIES: OrphanKind = {
  kind: DELIVERY_DUE,
  start: [0, 0],
  scan: scanSql(
    ['integration', 'number'],
    `deliveries where status in ${OPEN_DELIVERY} and (integration, number) > ($2::int, $3::bigint)`,
    `${hasNoJob(`'${DELIVERY_DUE}'`, 's.number')} and not (${followsAnother('s')})
      and exists (select 1 from integrations i where i.number = s.integration and i.deleted_at is null)`,
    'number',
  ),
  repair: lockOrphans({
    job: [`'${DELIVERY_DUE}'`, 'v.number', 'v.environment', firstDue('coalesce(v.next_attempt_at, v.created_at)'), 'v.integration'],
    ...{ table: 'deliveries v join integrations i on i.number = v.integration and i.deleted_at is null', key: 'v.number', of: 'v' },
    where: `v.status in ${OPEN_DELIVERY} and not (${followsAnother('v')})
      and not (${hasOrderingKey('v')} and exists (select 1 from deliveries o where o.integration = v.integration and o.user_id = v.user_id
        and o.source = 'event' and o.status in ${OPEN_DELIVERY} and o.log_offset < v.log_offset))`,
  }),
}

const WORKFLOW_RUNS: OrphanKind = {
  kind: 'run',
  start: [0],
  scan: scanSql(['id'], 'runs where finished_at is null and id > $2::bigint', hasNoJob('s.job_kind', 's.id'), 'id'),
  repair: lockOrphans({
    job: ['job_kind', 'id', 'environment', 'environment_now(environment)'],
    ...{ table: 'runs', key: 'id', where: 'finished_at is null' },
  }),
}

/** An active report always has a next slot. */
const REPORT_SLOTS: OrphanKind = {
  kind: REPORT_SLOT_DUE,
  start: [0],
  scan: scanSql(
    ['number'],
    `scheduled_reports where next_slot is not null and deleted_at is null and status = 'active' and number > $2::bigint`,
    hasNoJob(`'${REPORT_SLOT_DUE}'`, 's.number'),
    'number',
  ),
  repair: lockOrphans({
    job: [`'${REPORT_SLOT_DUE}'`, 'number', 'environment', 'next_slot'],
    ...{ table: 'scheduled_reports', key: 'number', where: `next_slot is not null and deleted_at is null and status = 'active'` },
  }),
}

/** Deleted integrations with deliveries that have not been failed. */
const DELETED_INTEGRATIONS: OrphanKind = {
  kind: DELETION_DUE,
  start: [0],
  scan: scanSql(
    ['number'],
    'integrations where deleted_at is not null and number > $2::int',
    `${hasNoJob(`'${DELETION_DUE}'`, 's.number')}
      and exists (select 1 from deliveries v where v.integration = s.number and v.status in ${OPEN_DELIVERY})`,
    'number',
  ),
  repair: lockOrphans({
    job: [`'${DELETION_DUE}'`, 'number', 'environment', 'environment_now(environment)'],
    ...{ table: 'integrations', key: 'number', where: 'deleted_at is not null' },
  }),
}

/** A change of all runs of an automation in steps; the row is deleted with the last step. */
const stepsOverRuns = (kind: string, table: string): OrphanKind => ({
  kind,
  start: [0],
  scan: scanSql(['number'], `${table} where number > $2::bigint`, hasNoJob(`'${kind}'`, 's.number'), 'number'),
  repair: lockOrphans({ job: [`'${kind}'`, 'number', 'environment', 'environment_now(environment)'], table, key: 'number' }),
})
const CANCELLATIONS = stepsOverRuns(CANCEL_DUE, 'automation_cancellations')
const RUN_RELEASES = stepsOverRuns(RUN_RELEASE_DUE, 'automation_releases')

const queuesOfStores = (kind: string, from: string): OrphanKind => ({
  kind,
  start: [0],
  scan: scanSql(['id'], from, hasNoJob(`'${STORE_QUEUE_DUE}'`, 's.id'), 'id'),
  repair: lockOrphans({
    job: [`'${STORE_QUEUE_DUE}'`, 'l.id', 'e.id', nextTurnOfQueue('l')],
    ...{ table: `store_lanes l join environments e on e.project = l.project and e.kind = 'production'`, key: 'l.id', of: 'l' },
    where: `${nextTurnOfQueue('l')} is not null`,
  }),
})
const PENDING_QUEUES = queuesOfStores(
  STORE_QUEUE_DUE,
  `(select distinct lane as id from store_inbox where state = 'pending' and lane > $2::bigint) p`,
)
const CHECKED_QUEUES = queuesOfStores('store_check', 'store_lanes where next_check_at is not null and id > $2::bigint')

/** Runs of reports have no jobs; their workflows' runs have. */
const REPORT_RUNS: OrphanKind = {
  kind: 'report-run',
  start: [0, ''],
  scan: scanSql(
    ['environment', 'id'],
    `report_runs where status <> 'finished' and (environment, id) > ($2::int, $3::text)`,
    IS_ORPHANED_REPORT_RUN,
    'id',
  ),
  repair: repairReportRuns,
}

/** Exports have no jobs; their workflows' runs have. */
const EXPORTS: OrphanKind = {
  kind: 'export',
  start: [0, ''],
  scan: scanSql(
    ['environment', 'id'],
    `exports where status in ('new', 'processing') and (environment, id) > ($2::int, $3::text)`,
    IS_ORPHANED_EXPORT,
    'id',
  ),
  repair: repairExports,
}

export const ORPHAN_KINDS: readonly OrphanKind[] = [
  AUTOMATION_RUNS,
  DELIVERIES,
  WORKFLOW_RUNS,
  REPORT_SLOTS,
  DELETED_INTEGRATIONS,
  CANCELLATIONS,
  RUN_RELEASES,
  PENDING_QUEUES,
  CHECKED_QUEUES,
  REPORT_RUNS,
  EXPORTS,
]
