import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { TransferPolicy } from '../projects/transfer-policy.ts'
import { conflict } from '../refusal.ts'
import type { Store } from './purchase.ts'

export type Lineage = { id: number; user_id: string | null }

/** The lineage's row, locked: whoever records or moves its transactions holds it. */
export async function lockLineage(tx: Tx, environment: Environment, platform: Store, name: string): Promise<Lineage> {
  const find = () =>
    tx.query<Lineage>({
      name: 'lock-lineage',
      text: `select id, user_id from lineages where environment = $1 and platform = $2
             and md5(lineage) = md5($3) for no key update`,
      values: [environment, platform, name],
    })
  const found = await find()
  if (found.rows[0]) return found.rows[0]
  await tx.query({
    name: 'make-lineage',
    text: `insert into lineages (environment, platform, lineage) values ($1, $2, $3)
           on conflict (environment, platform, md5(lineage)) do nothing`,
    values: [environment, platform, name],
  })
  return (await find()).rows[0]!
}

async function transferPolicy(tx: Tx, environment: Environment): Promise<TransferPolicy> {
  const { rows } = await tx.query<{ policy: TransferPolicy }>(
    'select p.transfer_policy as policy from projects p join environments e on e.project = p.id where e.id = $1',
    [environment],
  )
  return rows[0]!.policy
}

/**
 * Whose the lineage is once `user` has asked for it, by the project's transfer policy; `former` lost it. Throws `conflict` under `keep`.
 */
export async function claimLineage(
  tx: Tx,
  environment: Environment,
  lineage: Lineage,
  user: string,
): Promise<{ owner: string; former: string | null; shared: boolean }> {
  const owner = lineage.user_id
  if (owner === user) return { owner, former: null, shared: false }
  const policy = owner === null ? 'transfer' : await transferPolicy(tx, environment)
  switch (policy) {
    case 'keep':
      throw conflict('the transaction belongs to another user')
    case 'share': {
      await tx.query('insert into lineage_shares (environment, lineage, user_id) values ($1, $2, $3) on conflict do nothing', [
        environment,
        lineage.id,
        user,
      ])
      return { owner: owner!, former: null, shared: true }
    }
    case 'transfer': {
      await tx.query('update lineages set user_id = $2 where id = $1', [lineage.id, user])
      await tx.query('update purchases set user_id = $2 where lineage = $1', [lineage.id, user])
      await tx.query('delete from lineage_shares where environment = $1 and lineage = $2 and user_id = $3', [environment, lineage.id, user])
      return { owner: user, former: owner, shared: false }
    }
    default:
      return policy satisfies never
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

/** Locks the lineage of a purchase that is about to change. */
export async function lockLineageOf(tx: Tx, lineage: number): Promise<void> {
  await tx.query({ name: 'lock-lineage-of', text: 'select 1 from lineages where id = $1 for no key update', values: [lineage] })
}
