import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { holdConsumer } from '../log/consumer.ts'
import { AUTOMATION_COLUMNS, type Automation, automationOf } from './automation.ts'
import { holdAgainstWorld, missingThing, refuseFaulty } from './check.ts'
import { completeData } from './complete.ts'
import type { AutomationData } from './data.ts'
import { initiatorSlugs, writeInitiators } from './initiators.ts'
import type { AutomationInput } from './input.ts'

/** Throws `invalid_data`, and `not_found` for what it names and is not there. */
export async function createAutomation(tx: Tx, environment: Environment, input: AutomationInput): Promise<Automation> {
  const data = completeData(input.data)
  refuseFaulty(data)
  const end = await holdConsumer(tx, 'automations', environment)
  const [missing] = await holdAgainstWorld(tx, environment, data)
  if (missing) throw missingThing(missing)
  const id = orderedId('auto')
  await tx.query(
    `insert into automations (environment, id, name, caption, status, version, created_at, updated_at)
     select $1, $2, $3, $4, $5, 1, t, t from date_trunc('second', environment_now($1)) t`,
    [environment, id, input.name, input.caption, input.status],
  )
  await writeVersion(tx, environment, id, 1, data)
  await writeInitiators(tx, environment, id, initiatorSlugs(data), end)
  const { rows } = await tx.query<Automation>(`select ${AUTOMATION_COLUMNS} from automations where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  return automationOf(rows[0]!)
}

/** What runs that start from now on are pinned to. */
export async function writeVersion(tx: Tx, environment: Environment, id: string, version: number, data: AutomationData): Promise<void> {
  await tx.query('insert into automation_versions (environment, automation_id, version, data) values ($1, $2, $3, $4)', [
    environment,
    id,
    version,
    JSON.stringify(data),
  ])
}
