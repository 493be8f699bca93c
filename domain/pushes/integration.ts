import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { invalidField, notFound } from '../refusal.ts'

/** Providers that bring a push to a user. */
const SENDERS = ['onesignal', 'firebase']

/**
 * Holds the integration that a push names until the end of the transaction, so that whoever deletes it meanwhile waits and then finds the
 * push. Throws `not_found`; `invalid_data` for a provider that sends no pushes.
 */
export async function holdSender(tx: Tx, environment: Environment, id: string | null): Promise<void> {
  if (id === null) return
  const { rows } = await tx.query<{ slug: string }>(
    'select slug from integrations where environment = $1 and id = $2 and deleted_at is null for share',
    [environment, id],
  )
  if (!rows[0]) throw notFound(`integration_id: integration ${id}`)
  if (!SENDERS.includes(rows[0].slug)) throw invalidField('integration_id', `must be an integration of ${SENDERS.join(' or ')}`)
}
