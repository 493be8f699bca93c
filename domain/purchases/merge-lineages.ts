import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Store } from './subscriptions/purchase.ts'

// A statement that both lineages have is kept once: the other copy is deleted with the younger lineage.
const MOVE = [
  'update purchases p set lineage = $1, user_id = l.user_id from lineages l where p.lineage = any($2::bigint[]) and l.id = $1',
  `insert into store_statements (environment, lineage, kind, subject, stated_at, tie, origin, said, ids, recorded_at)
   select environment, $1, kind, subject, stated_at, tie, origin, said, ids, recorded_at from store_statements where lineage = any($2::bigint[])
   on conflict do nothing`,
  'update lineage_aliases set lineage = $1 where lineage = any($2::bigint[])',
  `insert into lineage_shares (environment, lineage, user_id)
   select s.environment, $1, s.user_id from lineage_shares s join lineages l on l.id = $1
   where s.lineage = any($2::bigint[]) and s.user_id is distinct from l.user_id on conflict do nothing`,
]

/**
 * Moves everything of the younger lineages into the older one and deletes them: a store has named them as one lineage. At most one user
 * owns them. The lineages and their owner are locked.
 */
export async function mergeLineages(tx: Tx, older: number, younger: number[]): Promise<void> {
  if (younger.length === 0) return
  await tx.query({
    name: 'unite-lineages',
    text: `update lineages o set user_id = coalesce(o.user_id, y.user_id), whole_until = greatest(o.whole_until, y.whole_until),
             stated_until = greatest(o.stated_until, y.stated_until), owned_at = greatest(o.owned_at, y.owned_at),
             transferred_at = greatest(o.transferred_at, y.transferred_at)
           from (select max(user_id) as user_id, max(whole_until) as whole_until, max(stated_until) as stated_until, max(owned_at) as owned_at,
             max(transferred_at) as transferred_at from lineages where id = any($2::bigint[])) y
           where o.id = $1`,
    values: [older, younger],
  })
  // Two rows of one transaction: the row of the older lineage is kept. It has the statements of the store, or both rows are the caller's.
  await tx.query({
    name: 'free-subjects',
    text: `update purchases y set subject = null from purchases o
           where y.lineage = any($2::bigint[]) and o.lineage = $1 and md5(o.subject) = md5(y.subject)`,
    values: [older, younger],
  })
  for (const [i, text] of MOVE.entries()) await tx.query({ name: `merge-lineages-${i}`, text, values: [older, younger] })
  await tx.query({
    name: 'drop-merged-lineages',
    text: `with gone as (delete from lineages where id = any($2::bigint[]) returning environment, platform, lineage)
           insert into lineage_aliases (environment, platform, name, lineage) select environment, platform, lineage, $1 from gone
           on conflict do nothing`,
    values: [older, younger],
  })
}

/** Adds names by which a lineage is found from now on. A name that belongs to another lineage stays with that lineage. */
export async function addAliases(tx: Tx, environment: Environment, platform: Store, lineage: number, names: string[]): Promise<void> {
  if (names.length === 0) return
  await tx.query({
    name: 'add-aliases',
    text: `insert into lineage_aliases (environment, platform, name, lineage)
           select $1, $2, n.name, $3 from unnest($4::text[]) n(name)
           where not exists (select 1 from lineages l where l.environment = $1 and l.platform = $2 and md5(l.lineage) = md5(n.name))
           order by md5(n.name) on conflict do nothing`,
    values: [environment, platform, lineage, [...new Set(names)]],
  })
}
