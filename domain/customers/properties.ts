import type { Tx } from '../../store/connect.ts'
import { audit, type Trail } from '../audit/record.ts'
import type { Environment } from '../environment.ts'
import { type Property, type PropertyError, setProperties } from '../users/properties.ts'

/** `setProperties` of a person known as customer, with an entry in the audit log when a value changed. */
export async function setCustomerProperties(
  tx: Tx,
  trail: Trail & { environment: Environment },
  id: string,
  given: Property[],
): Promise<{ saved: Property[]; errors: PropertyError[] }> {
  const { saved, errors, before } = await setProperties(tx, trail.environment, id, given)
  const changed = saved.filter(({ key, value }) => before[key] !== value)
  if (changed.length > 0) {
    const replaced = changed.flatMap(({ key }) => (key in before ? [{ key, value: before[key]! }] : []))
    await audit(tx, trail, { resource: 'customer', id, user: id, before: { userProperties: replaced }, after: { userProperties: changed } })
  }
  return { saved, errors }
}
