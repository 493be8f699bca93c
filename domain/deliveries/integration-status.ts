import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { getIntegration, INTEGRATION_COLUMNS, type IntegrationRow, lockIntegration } from '../integrations/integration.ts'
import { lockConsumer } from '../log/consumer.ts'
import { endProbes } from './probe.ts'
import { release } from './release.ts'

/** `before` is null when it was so already. */
export type StatusChange = { before: IntegrationRow | null; after: IntegrationRow }

/** Starts it: from its first start on every event of the log is its own. Whether it may be started was asked before. */
export async function activate(tx: Tx, environment: Environment, id: string): Promise<StatusChange> {
  const { has_begun, active } = await getIntegration(tx, environment, id)
  // Before the integration's own row, as whoever reads the log does.
  const offsets = has_begun || active === 1 ? null : await lockConsumer(tx, 'integrations', environment)
  const before = await lockIntegration(tx, environment, id)
  if (before.active === 1) return { before: null, after: before }
  await endProbes(tx, before.number)
  const { rows } = await tx.query<IntegrationRow>(
    `update integrations set active = 1, held_since = null, is_probed = false, probing = null, failures_in_row = 0, released_to = null,
       from_offsets = coalesce(from_offsets, $3), updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and id = $2 returning ${INTEGRATION_COLUMNS}`,
    [environment, id, offsets],
  )
  await release(tx, environment, before.number)
  return { before, after: rows[0]! }
}

/** Pauses it: what is open is held from now on. Workers put it aside as it comes to them. */
export async function pause(tx: Tx, environment: Environment, id: string): Promise<StatusChange> {
  const before = await lockIntegration(tx, environment, id)
  if (before.active === 0) return { before: null, after: before }
  await endProbes(tx, before.number)
  const { rows } = await tx.query<IntegrationRow>(
    `update integrations set active = 0, held_since = coalesce(held_since, t), is_probed = false, probing = null,
       updated_at = date_trunc('second', t)
     from environment_now($1) t where environment = $1 and id = $2 returning ${INTEGRATION_COLUMNS}`,
    [environment, id],
  )
  return { before, after: rows[0]! }
}
