import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { TransferPolicy } from '../projects/policies.ts'
import { conflict } from '../refusal.ts'
import type { Store } from '../subscriptions/purchase.ts'

export type Lineage = { id: number; user_id: string | null }

/** Locks the lineage's row; inserts the row first if it is missing. Recording and transferring transactions of a lineage require this lock. */
export async function lockLineage(tx: Tx, environment: Environment, platform: Store, name: string): Promise<Lineage> {
  for (;;) {
    const { rows } = await tx.query<Lineage>({
      name: 'lock-lineage',
      text: `select id, user_id from lineages where environment = $1 and platform = $2 and md5(lineage) = md5($3) for no key update`,
      values: [environment, platform, name],
    })
    if (rows[0]) return rows[0]
    // A concurrent writer may insert the row first, and an erasure may delete the found row before it is locked. The loop covers both.
    await tx.query({
      name: 'insert-lineage',
      text: `insert into lineages (environment, platform, lineage) values ($1, $2, $3)
             on conflict (environment, platform, md5(lineage)) do nothing`,
      values: [environment, platform, name],
    })
  }
}

async function transferPolicy(tx: Tx, environment: Environment): Promise<TransferPolicy> {
  const { rows } = await tx.query<{ policy: TransferPolicy }>(
    'select p.transfer_policy as policy from projects p join environments e on e.project = p.id where e.id = $1',
    [environment],
  )
  return rows[0]!.policy
}

/** The owner of a lineage after a claim, and the action that this needs. `former` loses the lineage. */
type Ownership = { owner: string; former: string | null; by: 'owning' | 'share' | 'transfer' }

/** Applies the project's transfer policy to the claim of `user`. Throws `conflict` when another user owns the lineage and the policy is `keep`. */
export async function resolveOwner(tx: Tx, environment: Environment, { user_id: owner }: Lineage, user: string): Promise<Ownership> {
  if (owner === user) return { owner, former: null, by: 'owning' }
  if (owner === null) return { owner: user, former: null, by: 'transfer' }
  const policy = await transferPolicy(tx, environment)
  switch (policy) {
    case 'keep':
      throw conflict('the transaction belongs to another user')
    case 'share':
      return { owner, former: null, by: 'share' }
    case 'transfer':
      return { owner: user, former: owner, by: 'transfer' }
    default:
      return policy satisfies never
  }
}

/** Writes the result of `resolveOwner`. The caller has locked the lineage and then all users concerned, so none of them can be erased meanwhile. */
export async function claimLineage(tx: Tx, environment: Environment, { id }: Lineage, user: string, by: Ownership['by']): Promise<void> {
  switch (by) {
    case 'owning':
      return
    case 'share':
      await tx.query('insert into lineage_shares (environment, lineage, user_id) values ($1, $2, $3) on conflict do nothing', [
        environment,
        id,
        user,
      ])
      return
    case 'transfer':
      await tx.query('update lineages set user_id = $2 where id = $1', [id, user])
      await tx.query('update purchases set user_id = $2 where lineage = $1', [id, user])
      // The shares came from the former owner. Events stay with the former owner: an offset of the log never changes its user.
      await tx.query('delete from lineage_shares where lineage = $1', [id])
      return
    default:
      by satisfies never
  }
}

export async function hasShare(tx: Tx, environment: Environment, lineage: number, user: string): Promise<boolean> {
  const { rowCount } = await tx.query('select 1 from lineage_shares where environment = $1 and user_id = $2 and lineage = $3', [
    environment,
    user,
    lineage,
  ])
  return rowCount === 1
}

/** Locks the lineage of a recorded purchase. Undefined when the lineage was erased meanwhile. */
export async function lockLineageOf(tx: Tx, lineage: number): Promise<Lineage | undefined> {
  const { rows } = await tx.query<Lineage>({
    name: 'lock-lineage-of',
    text: 'select id, user_id from lineages where id = $1 for no key update',
    values: [lineage],
  })
  return rows[0]
}
