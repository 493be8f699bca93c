import type { Tx } from '../../store/connect.ts'
import { audit, type Trail } from '../audit/record.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { type Property, type PropertyError, setProperties, sortedProperties } from '../users/properties.ts'

/** `setProperties` of a person known as customer, with an entry in the audit log when a value changed. */
export async function setCustomerProperties(
  tx: Tx,
  trail: Trail & { environment: Environment },
  id: string,
  given: Property[],
): Promise<{ saved: Property[]; errors: PropertyError[] }> {
  const { environment } = trail
  // Under the lock: of two writers the second must not name as `before` what the first has just replaced.
  const { rows } = await tx.query<{ properties: string }>(
    'select properties_sorted as properties from users where environment = $1 and id = $2 for no key update',
    [environment, id],
  )
  if (!rows[0]) throw notFound('customer')
  const before = sortedProperties(rows[0].properties)
  const result = await setProperties(tx, environment, id, given)
  const known = new Map(before.map(({ key, value }) => [key, value]))
  const changed = result.saved.filter(({ key, value }) => known.get(key) !== value)
  if (changed.length > 0) {
    const replaced = new Set(changed.map(({ key }) => key))
    const userProperties = before.filter(({ key }) => replaced.has(key))
    await audit(tx, trail, { resource: 'customer', id, user: id, before: { userProperties }, after: { userProperties: changed } })
  }
  return result
}
