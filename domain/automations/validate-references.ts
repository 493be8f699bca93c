import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { type Detail, invalidFields, notFound } from '../kernel/refusal.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { conditionFaults } from './conditions.ts'
import { lockNamed, type Named, namedIn } from './named.ts'
import { dataFaults } from './validate-data.ts'

const MAX_DETAILS = 100

/** Throws `invalid_data` for the faults of the data by itself. */
export function refuseFaulty(data: AutomationData): void {
  const faults = dataFaults(data)
  if (faults.length > 0) throw invalidFields(faults.slice(0, MAX_DETAILS))
}

/** A webhook step sends to the customer's own server: the vendors of the other integrations expect their own formats. */
async function slugFaults(tx: Tx, environment: Environment, named: readonly Named[]): Promise<Detail[]> {
  const integrations = named.filter(({ kind }) => kind === 'integration')
  if (integrations.length === 0) return []
  const { rows } = await tx.query<{ id: string }>(
    `select id from integrations where environment = $1 and id = any ($2::text[]) and deleted_at is null and slug <> 'webhooks'`,
    [environment, integrations.map(({ id }) => id)],
  )
  const wrong = new Set(rows.map(({ id }) => id))
  return integrations.flatMap(({ id, field }) => (wrong.has(id) ? [{ field, message: 'must be an integration of the slug webhooks' }] : []))
}

/**
 * Checks the references of the data. Throws `invalid_data`, and returns the objects that do not exist; the others cannot be deleted before
 * the transaction ends.
 */
export async function checkReferences(tx: Tx, environment: Environment, data: AutomationData): Promise<Named[]> {
  const named = namedIn(data)
  const faults = [...(await conditionFaults(tx, environment, data)), ...(await slugFaults(tx, environment, named))]
  if (faults.length > 0) throw invalidFields(faults.slice(0, MAX_DETAILS))
  return lockNamed(tx, environment, named)
}

export const missingThing = ({ field, kind }: Named) => notFound(`${field}: ${kind}`)
