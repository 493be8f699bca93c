import type { Db, Tx } from '../../store/connect.ts'
import type { Environment, EnvironmentKind } from '../kernel/environment.ts'
import { purchasesOfLineage } from './record.ts'
import { queueNameOf } from './store-inbox/follow.ts'
import type { PurchaseRow, Store } from './subscriptions/purchase.ts'

/** `by`: whether the operator has given its row number or a name of the store's. */
export type NamedLineage = {
  id: number
  name: string
  platform: Store
  environment: Environment
  kind: EnvironmentKind
  owner: string | null
  by: 'number' | 'name'
}

/** The lineages of a project that an operator means by a row number or by one of the store's own names. `kind` null: of both environments. */
export async function findNamedLineages(db: Db, project: number, kind: EnvironmentKind | null, given: string): Promise<NamedLineage[]> {
  const { rows } = await db.query<NamedLineage>(
    `select l.id, l.lineage as name, l.platform, l.environment, e.kind, l.user_id as owner,
       case when l.id::text = $3 and l.lineage <> $3 then 'number' else 'name' end as by
     from environments e join lineages l on l.environment = e.id
     where e.project = $1 and ($2::text is null or e.kind = $2) and l.id in (
       select id from lineages where id = case when $3 ~ '^[0-9]{1,15}$' then $3::bigint end
       union all
       select l.id from lineages l join environments n on n.id = l.environment where n.project = $1 and md5(l.lineage) = md5($3)
       union all
       select a.lineage from lineage_aliases a join environments n on n.id = a.environment where n.project = $1 and md5(a.name) = md5($3))
     order by l.id`,
    [project, kind, given],
  )
  return rows
}

/** Everything that is recorded of a lineage. `names`: its own, its aliases and those of its queues. `statements`: how many of each kind. */
export type LineageRecord = {
  aliases: string[]
  names: string[]
  shares: string[]
  purchases: PurchaseRow[]
  statements: { kind: string; origin: string; count: number; lastAt: string }[]
}

export async function readLineage(tx: Tx, { id, name }: Pick<NamedLineage, 'id' | 'name'>): Promise<LineageRecord> {
  const purchases = await purchasesOfLineage(tx, id)
  const aliases = await tx.query<{ name: string }>('select name from lineage_aliases where lineage = $1 order by name', [id])
  const shares = await tx.query<{ user_id: string }>('select user_id from lineage_shares where lineage = $1 order by user_id', [id])
  const statements = await tx.query<LineageRecord['statements'][number]>(
    `select kind, origin, count(*)::int as count, to_timestamp(max(stated_at) / 1000.0) as "lastAt"
     from store_statements where lineage = $1 group by 1, 2 order by 1, 2`,
    [id],
  )
  const known = aliases.rows.map(row => row.name)
  return {
    aliases: known,
    names: [...new Set([name, ...known, ...purchases.flatMap(purchase => queueNameOf(purchase) ?? [])])],
    shares: shares.rows.map(({ user_id }) => user_id),
    purchases,
    statements: statements.rows,
  }
}

/** The lineage of a transaction, an order, a token or a subscription, where its store has reported all of it. Null: a fetch from the store is necessary. */
export async function knownLineage(
  db: Db,
  environment: Environment,
  platform: Store,
  name: string,
): Promise<{ owner: string | null } | null> {
  const { rows } = await db.query<{ owner: string | null }>({
    name: 'known-lineage',
    text: `select l.user_id as owner from lineages l where l.whole_until is not null and l.id in (
             select lineage from purchases where environment = $1 and platform = $2 and coalesce(transaction_id, order_id) = $3
               and subject is not null
             union all
             select id from lineages where environment = $1 and platform = $2 and md5(lineage) = md5($3)
             union all
             select lineage from lineage_aliases where environment = $1 and platform = $2 and md5(name) = md5($3)) limit 1`,
    values: [environment, platform, name],
  })
  return rows[0] ?? null
}
