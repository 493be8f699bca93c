import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { lockConsumer } from '../durable/log/consumer.ts'
import { slugOf } from '../events/catalogue.ts'
import type { Actor } from '../kernel/audit/record.ts'
import type { Environment } from '../kernel/environment.ts'
import { AUTOMATION_COLUMNS, type Automation, automationOf } from './automation.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { supersedeVersions } from './automation-runs/pinned-steps.ts'
import { completeData } from './complete.ts'
import type { AutomationInput } from './input.ts'
import { checkReferences, missingThing, refuseFaulty } from './validate-references.ts'

/** Throws `invalid_data`, and `not_found` for an object that the automation names and that does not exist. */
export async function createAutomation(tx: Tx, environment: Environment, input: AutomationInput, actor: Actor): Promise<Automation> {
  const data = completeData(input.data)
  refuseFaulty(data)
  const end = await lockConsumer(tx, 'automations', environment)
  const [missing] = await checkReferences(tx, environment, data)
  if (missing) throw missingThing(missing)
  const id = orderedId('auto')
  await tx.query(
    `insert into automations (environment, id, name, caption, status, version, created_at, updated_at)
     select $1, $2, $3, $4, $5, 1, t, t from date_trunc('second', environment_now($1)) t`,
    [environment, id, input.name, input.caption, input.status],
  )
  await writeVersion(tx, environment, id, { version: 1, data, actor })
  await writeInitiators(tx, environment, id, initiatorSlugs(data), end)
  const { rows } = await tx.query<Automation>(`select ${AUTOMATION_COLUMNS} from automations where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  return automationOf(rows[0]!)
}

type NewVersion = { version: number; data: AutomationData; actor: Actor }

/** Stores the version that runs are pinned to that start from now on. No run that starts later is pinned to the former one. */
export async function writeVersion(tx: Tx, environment: Environment, id: string, { version, data, actor }: NewVersion): Promise<void> {
  await supersedeVersions(tx, environment, id)
  await tx.query(
    `insert into automation_versions (environment, automation_id, version, data, created_at, actor_kind, actor_id)
     values ($1, $2, $3, $4, date_trunc('second', environment_now($1)), $5, $6)`,
    [environment, id, version, JSON.stringify(data), actor.kind, actor.id],
  )
}

/** Slugs of the events that start the automation, each once. */
export const initiatorSlugs = ({ initiators }: AutomationData): string[] => [...new Set(initiators.map(({ uid }) => slugOf(uid)!))]

/**
 * Sets the events that start the automation. New ones count from `end` on, the end of the log per partition, read with the consumer locked
 * (`lockConsumer`); those that stay count from their former offsets.
 */
export async function writeInitiators(tx: Tx, environment: Environment, id: string, slugs: string[], end: number[]): Promise<void> {
  await tx.query('delete from automation_initiators where environment = $1 and automation_id = $2 and event_name <> all ($3::text[])', [
    environment,
    id,
    slugs,
  ])
  await tx.query(
    `insert into automation_initiators (environment, automation_id, event_name, from_offsets)
     select $1, $2, slug, $4::bigint[] from unnest($3::text[]) slug on conflict do nothing`,
    [environment, id, slugs, end],
  )
}
