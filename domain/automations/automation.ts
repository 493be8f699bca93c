import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { type Page, pageOf } from '../kernel/page.ts'
import { notFound } from '../kernel/refusal.ts'
import { cancelRunsOf } from './automation-runs/cancel.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { supersedeVersions } from './automation-runs/pinned-steps.ts'
import { completeData } from './complete.ts'
import type { AutomationStatus } from './input.ts'

export type Automation = {
  id: string
  name: string
  caption: string
  status: AutomationStatus
  version: number
  created_at: string
  /** Every change moves it by a second or more, so in whole seconds it still names one state. */
  updated_at: string
  data: AutomationData
}

/** `before` is null when nothing was changed. */
export type AutomationChange = { before: Automation | null; after: Automation }

export const AUTOMATION_COLUMNS = `id, name, caption, status, version, created_at, updated_at,
  (select v.data from automation_versions v
   where v.environment = automations.environment and v.automation_id = automations.id and v.version = automations.version) as data`

/** In SQL: the time of a change. */
export const CHANGED_AT = `greatest(environment_now($1), date_trunc('second', updated_at) + interval '1 second')`

/** A row as it is shown: the keys of the data stand in the order of the description. */
export const automationOf = (row: Automation): Automation => ({ ...row, data: completeData(row.data) })

/**
 * Locks an automation until the transaction ends: meanwhile no consumer handles events for it. Two statements, so that the data is that of
 * the locked version. Throws `not_found`.
 */
export async function lockAutomation(
  tx: Tx,
  environment: Environment,
  id: string,
  strength: 'update' | 'no key update',
): Promise<Automation> {
  const locked = await tx.query(`select 1 from automations where environment = $1 and id = $2 for ${strength}`, [environment, id])
  if (locked.rowCount === 0) throw notFound('automation')
  const { rows } = await tx.query<Automation>(`select ${AUTOMATION_COLUMNS} from automations where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  return automationOf(rows[0]!)
}

export async function getAutomation(db: Db, environment: Environment, id: string): Promise<Automation> {
  const { rows } = await db.query<Automation>(`select ${AUTOMATION_COLUMNS} from automations where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('automation')
  return automationOf(rows[0])
}

/** The time of the environment of an automation, which there must be. Throws `not_found`. */
export async function nowOfAutomation(db: Db, environment: Environment, id: string): Promise<string> {
  const { rows } = await db.query<{ now: string }>(
    'select environment_now($1) as now from automations where environment = $1 and id = $2',
    [environment, id],
  )
  if (!rows[0]) throw notFound('automation')
  return rows[0].now
}

const LISTED = { table: 'automations', columns: AUTOMATION_COLUMNS, order: 'newest' as const }

// The automations of an environment are few: what a filter leaves out is read, too.
const NARROWED = `($4::text[] is null or status = any ($4)) and ($5::text is null or id in (
  select automation_id from automation_initiators where environment = $1 and event_name = $5))`

/** `event`: the slug of a type that starts them. Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export async function listAutomations(
  db: Db,
  environment: Environment,
  {
    limit,
    after,
    statuses,
    event,
  }: { limit: number; after: string | undefined; statuses: readonly AutomationStatus[] | undefined; event: string | undefined },
): Promise<Page<Automation>> {
  const narrowed = { condition: NARROWED, values: [statuses ?? null, event ?? null] }
  const { rows, restarted } = await pageOf<Automation>(db, LISTED, environment, {
    limit,
    after,
    ...(statuses || event ? { narrowed } : {}),
  })
  return { rows: rows.map(automationOf), restarted }
}

/** Removes an automation for good and cancels its unfinished runs. Its runs stay for their time, and the versions that they are pinned to. Returns the former automation. */
export async function deleteAutomation(tx: Tx, environment: Environment, id: string): Promise<Automation> {
  const before = await lockAutomation(tx, environment, id, 'update')
  await cancelRunsOf(tx, environment, id, 'automation_deleted')
  await supersedeVersions(tx, environment, id)
  await tx.query(
    `with initiators as (delete from automation_initiators where environment = $1 and automation_id = $2),
       forgotten as (delete from forgotten_runs where environment = $1 and automation_id = $2)
     delete from automations where environment = $1 and id = $2`,
    [environment, id],
  )
  return before
}
