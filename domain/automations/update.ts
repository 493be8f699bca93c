import type { Tx } from '../../store/connect.ts'
import { lockConsumer } from '../durable/log/consumer.ts'
import type { Actor } from '../kernel/audit/record.ts'
import type { Environment } from '../kernel/environment.ts'
import { conflict } from '../kernel/refusal.ts'
import { AUTOMATION_COLUMNS, type Automation, type AutomationChange, automationOf, CHANGED_AT, lockAutomation } from './automation.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { completeData } from './complete.ts'
import { initiatorSlugs, writeInitiators, writeVersion } from './create.ts'
import type { AutomationInput, AutomationStatus } from './input.ts'
import { namedIn } from './named.ts'
import { enterStatus } from './status.ts'
import { checkReferences, missingThing, refuseFaulty } from './validate-references.ts'

const secondOf = (time: string) => Math.floor(Date.parse(time) / 1_000)
const same = (a: AutomationData, b: AutomationData) => JSON.stringify(a) === JSON.stringify(b)

/**
 * Replaces the automation. The consumer of the log is locked before the automation, in the order in which a consumer's batch locks them.
 * `updatedAt`: of the state that the caller has read, if it is to be the present one; throws `conflict` when it is not.
 * Throws `invalid_data`; `not_found` for an object that the data names and that does not exist; `conflict` when the former data named it
 * and the automation is to become active.
 */
export async function updateAutomation(
  tx: Tx,
  environment: Environment,
  id: string,
  input: AutomationInput,
  { actor, updatedAt }: { actor: Actor; updatedAt: string | undefined },
): Promise<AutomationChange> {
  const data = completeData(input.data)
  const end = await lockConsumer(tx, 'automations', environment)
  const before = await lockAutomation(tx, environment, id, 'no key update')
  if (updatedAt !== undefined && secondOf(updatedAt) !== secondOf(before.updated_at))
    throw conflict(`the automation was changed in the meantime, at ${before.updated_at}`)
  refuseFaulty(data)
  await refuseMissing(tx, environment, before, { data, status: input.status })
  const { name, caption, status } = input
  const isSame = same(before.data, data)
  if (isSame && before.name === name && before.caption === caption && before.status === status) return { before: null, after: before }
  const version = isSame ? before.version : before.version + 1
  if (!isSame) {
    await writeVersion(tx, environment, id, { version, data, actor })
    await writeInitiators(tx, environment, id, initiatorSlugs(data), end)
  }
  const { rows } = await tx.query<Automation>(
    `update automations set name = $3, caption = $4, status = $5, version = $6, updated_at = ${CHANGED_AT}
     where environment = $1 and id = $2 returning ${AUTOMATION_COLUMNS}`,
    [environment, id, name, caption, status, version],
  )
  if (before.status !== status) await enterStatus(tx, environment, { id, data }, before.status, status)
  return { before, after: automationOf(rows[0]!) }
}

async function refuseMissing(
  tx: Tx,
  environment: Environment,
  before: Automation,
  { data, status }: { data: AutomationData; status: AutomationStatus },
): Promise<void> {
  const missing = await checkReferences(tx, environment, data)
  const known = new Set(namedIn(before.data).map(({ kind, id }) => `${kind}:${id}`))
  const unknown = missing.find(({ kind, id }) => !known.has(`${kind}:${id}`))
  if (unknown) throw missingThing(unknown)
  const gone = missing[0]
  if (!gone) return
  if (status === 'active' && before.status !== 'active') throw conflict(`${gone.field} names a ${gone.kind} that is gone`)
  throw missingThing(gone)
}
