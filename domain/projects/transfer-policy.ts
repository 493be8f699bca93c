import type { Tx } from '../../store/connect.ts'
import { audit, type Trail } from '../audit/record.ts'
import { notFound } from '../refusal.ts'

export const TRANSFER_POLICIES = ['keep', 'transfer', 'share'] as const
export type TransferPolicy = (typeof TRANSFER_POLICIES)[number]

/** What becomes of a purchase that another user of the project claims. */
export async function setTransferPolicy(tx: Tx, trail: Trail, policy: TransferPolicy): Promise<void> {
  const { project } = trail
  const { rows } = await tx.query<{ transfer_policy: TransferPolicy }>(
    'select transfer_policy from projects where id = $1 for no key update',
    [project],
  )
  if (!rows[0]) throw notFound(`project ${project}`)
  const { transfer_policy } = rows[0]
  if (transfer_policy === policy) return
  await tx.query('update projects set transfer_policy = $2 where id = $1', [project, policy])
  const before = { transfer_policy }
  await audit(tx, trail, { resource: 'project', id: String(project), before, after: { transfer_policy: policy } })
}
