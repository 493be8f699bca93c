import type { Tx } from '../../store/connect.ts'
import { lockInOrder } from '../../store/lock-in-order.ts'
import type { Environment } from '../kernel/environment.ts'
import type { TransferPolicy } from '../projects/policies.ts'
import { ClaimRefusal } from './attempts/reason.ts'
import type { Store } from './subscriptions/purchase.ts'

/** `transferred`: a claim moved it from one owner to another in the last 24 hours. */
export type Lineage = { id: number; user_id: string | null; name: string; transferred: boolean }

/** SQL: the columns of a lineage. */
const LINEAGE = `id, user_id, lineage as name, coalesce(transferred_at > clock_timestamp() - interval '24 hours', false) as transferred`

/** SQL: the id of the lineage that has name \`$3\` at platform \`$2\`, or has it as an alias. */
const ID_OF_NAME = `coalesce(
  (select id from lineages where environment = $1 and platform = $2 and md5(lineage) = md5($3)),
  (select lineage from lineage_aliases where environment = $1 and platform = $2 and md5(name) = md5($3)))`

/** Locks the lineage's row; inserts the row first if it is missing. Recording and transferring transactions of a lineage require this lock. */
export async function lockLineage(tx: Tx, environment: Environment, platform: Store, name: string): Promise<Lineage> {
  for (;;) {
    const { rows } = await tx.query<Lineage>({
      name: 'lock-lineage',
      text: `select ${LINEAGE} from lineages where id = ${ID_OF_NAME} for no key update`,
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

export async function transferPolicy(tx: Tx, environment: Environment): Promise<TransferPolicy> {
  const { rows } = await tx.query<{ policy: TransferPolicy }>(
    'select p.transfer_policy as policy from projects p join environments e on e.project = p.id where e.id = $1',
    [environment],
  )
  return rows[0]!.policy
}

/** The owner of a lineage after a claim, and the action that this needs. `former` loses the lineage. */
export type Ownership = { owner: string; former: string | null; by: 'owning' | 'first' | 'share' | 'transfer' }

/**
 * A store has stated a purchase in the lineage of `owner`, with the account of another known user. `keep`: the lineage stays with `owner`,
 * and an operator must decide.
 */
export type Bought = { owner: string; account: string; by: 'transfer' | 'share' | 'keep' }

const ofOtherUser = (message: string) => new ClaimRefusal('conflict', 'belongs_to_other_user', message)

/** Applies the project's transfer policy to the claim of `user`. Throws `conflict` when another user owns the lineage and the policy is `keep`. */
export async function resolveOwner(
  tx: Tx,
  environment: Environment,
  { user_id: owner, transferred }: Pick<Lineage, 'user_id' | 'transferred'>,
  user: string,
): Promise<Ownership> {
  if (owner === user) return { owner, former: null, by: 'owning' }
  if (owner === null) return { owner: user, former: null, by: 'first' }
  const policy = await transferPolicy(tx, environment)
  switch (policy) {
    case 'keep':
      throw ofOtherUser('the transaction belongs to another user')
    case 'share':
      return { owner, former: null, by: 'share' }
    case 'transfer':
      // Two devices of one store account would move the lineage back and forth.
      if (transferred) throw ofOtherUser('the transaction was transferred to another user in the last 24 hours')
      return { owner: user, former: owner, by: 'transfer' }
    default:
      return policy satisfies never
  }
}

/** Gives a lineage without owner its first one. What a store has reported of it before counts as recorded from now on. */
export async function giveLineage(tx: Tx, id: number, user: string): Promise<void> {
  await tx.query({
    name: 'give-lineage',
    text: `update lineages set user_id = $2, account_hash = null, owned_at = case when exists (select 1 from purchases where lineage = $1)
             then environment_now(environment) end where id = $1`,
    values: [id, user],
  })
  await tx.query({ name: 'give-purchases', text: 'update purchases set user_id = $2 where lineage = $1', values: [id, user] })
}

/** Writes the result of `resolveOwner`. The caller has locked the lineage and then all users concerned, so none of them can be erased meanwhile. */
export async function claimLineage(
  tx: Tx,
  environment: Environment,
  { id }: Pick<Lineage, 'id'>,
  user: string,
  by: Ownership['by'],
): Promise<void> {
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
    case 'first':
      await giveLineage(tx, id, user)
      return
    case 'transfer':
      await tx.query('update lineages set user_id = $2, transferred_at = clock_timestamp() where id = $1', [id, user])
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
    text: `select ${LINEAGE} from lineages where id = $1 for no key update`,
    values: [lineage],
  })
  return rows[0]
}

/** The parts of a store's report that identify a lineage: its names, and the transactions that may be recorded in it. */
export type LineageTarget = { platform: Store; names: string[]; transactions: string[] }

/** The lineages that exist for each target, oldest first: `target` is its index. */
async function findLineages(tx: Tx, environment: Environment, targets: LineageTarget[]): Promise<{ target: number; id: number }[]> {
  const keys = (of: (target: LineageTarget) => string[]) =>
    targets.flatMap((target, i) => of(target).map(key => ({ i, key, platform: target.platform })))
  const [names, transactions] = [keys(target => target.names), keys(target => target.transactions)]
  const { rows } = await tx.query<{ target: number; id: number }>({
    name: 'find-lineages',
    text: `select k.target, l.id from unnest($2::int[], $3::text[], $4::text[]) k(target, platform, name) cross join lateral (
             select id from lineages where environment = $1 and platform = k.platform and md5(lineage) = md5(k.name)
             union all
             select lineage from lineage_aliases where environment = $1 and platform = k.platform and md5(name) = md5(k.name)) l
           union
           select k.target, p.lineage from unnest($5::int[], $6::text[], $7::text[]) k(target, platform, transaction) cross join lateral (
             select lineage from purchases where environment = $1 and platform = k.platform and coalesce(transaction_id, order_id) = k.transaction
             limit 1) p
           order by 1, 2`,
    values: [environment, ...[names, transactions].flatMap(of => [of.map(k => k.i), of.map(k => k.platform), of.map(k => k.key)])],
  })
  return rows
}

/**
 * Locks the lineages of each target, oldest first; inserts one where there is none. Rows are inserted in the order of their names and locked in
 * the order of their ids, so two reports about the same lineages cannot wait for each other in a circle.
 */
export async function lockLineages(tx: Tx, environment: Environment, targets: LineageTarget[]): Promise<Lineage[][]> {
  for (;;) {
    const found = await findLineages(tx, environment, targets)
    const isKnown = new Set(found.map(({ target }) => target))
    const missing = targets.filter((_, i) => !isKnown.has(i))
    if (missing.length > 0) {
      await tx.query({
        name: 'insert-lineages',
        text: `insert into lineages (environment, platform, lineage)
               select $1, platform, name from unnest($2::text[], $3::text[]) k(platform, name) order by platform, md5(name)
               on conflict (environment, platform, md5(lineage)) do nothing`,
        values: [environment, missing.map(({ platform }) => platform), missing.map(({ names }) => names[0])],
      })
      continue
    }
    const ids = [...new Set(found.map(({ id }) => id))]
    const { rows } = await tx.query<Lineage>({
      name: 'lock-lineages',
      text: lockInOrder({ table: 'lineages', key: 'id', keys: '$1::bigint[]', columns: LINEAGE, strength: 'no key update' }),
      values: [ids],
    })
    const locked = new Map(rows.map(row => [row.id, row]))
    const now = await findLineages(tx, environment, targets)
    // Between the search and the lock a lineage may have been erased, merged, or found to have one of the transactions.
    if (now.every(({ id }) => locked.has(id)) && new Set(now.map(({ target }) => target)).size === targets.length)
      return targets.map((_, i) => now.filter(({ target }) => target === i).map(({ id }) => locked.get(id)!))
  }
}
