import type { Tx } from '../../store/connect.ts'
import { notFound } from '../kernel/refusal.ts'

/**
 * What an operator decides per project; the first value is the default. transfer_policy: what becomes of a purchase that another user claims.
 * sandbox_access: what a production user gets for a purchase of Apple's sandbox (App Review). refund_preference: what Apple is sent about
 * refunds; none: nothing.
 */
export const PROJECT_POLICIES = {
  transfer_policy: ['keep', 'transfer', 'share'],
  sandbox_access: ['grant', 'refuse'],
  refund_preference: ['none', 'decline', 'grant_full'],
} as const

export type PolicyName = keyof typeof PROJECT_POLICIES
export type ProjectPolicies = { [Name in PolicyName]: (typeof PROJECT_POLICIES)[Name][number] }
export type TransferPolicy = ProjectPolicies['transfer_policy']

/** Stores the given policies. Returns those that changed, as they were before. */
export async function setPolicies(tx: Tx, project: number, given: Partial<ProjectPolicies>): Promise<Partial<ProjectPolicies>> {
  const { rows } = await tx.query<ProjectPolicies>(
    'select transfer_policy, sandbox_access, refund_preference from projects where id = $1 for no key update',
    [project],
  )
  const [before] = rows
  if (!before) throw notFound(`project ${project}`)
  const after = { ...before, ...given }
  const changed = (Object.keys(before) as PolicyName[]).filter(name => before[name] !== after[name])
  if (changed.length > 0)
    await tx.query('update projects set transfer_policy = $2, sandbox_access = $3, refund_preference = $4 where id = $1', [
      project,
      after.transfer_policy,
      after.sandbox_access,
      after.refund_preference,
    ])
  return Object.fromEntries(changed.map(name => [name, before[name]]))
}
