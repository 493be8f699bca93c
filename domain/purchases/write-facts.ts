import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { FACT_TYPES, type PurchaseFacts } from './purchase-facts.ts'
import type { Store } from './subscriptions/purchase.ts'

const names = Object.keys(FACT_TYPES)
const list = (alias: string) => names.map(name => `${alias}.${name}`).join(', ')
const RECORD = names.map(name => `${name} ${FACT_TYPES[name as keyof PurchaseFacts]}`).join(', ')

/**
 * The columns that statements do not determine. `screen`: the screen that sold the claimed transaction. `triggers` false: the purchase is
 * recorded as a backfill.
 */
export type Recording = { environment: Environment; lineage: number; platform: Store; owner: string | null; triggers: boolean }
export type NewPurchase = PurchaseFacts & { screen_id: string | null }

const INSERT = `
insert into purchases (environment, lineage, user_id, platform, screen_id, created_at, verified_at, triggers, known_country, known_app_version,
  known_locale, is_unmapped, ${names.join(', ')})
select $1, $2, $3, $4::text, f.screen_id, t, t, $5, u.country, u.app_version, u.locale,
  linked_product($1, $4, f.store_product_id, f.base_plan_id) is null, ${list('f')}
from environment_now($1) t cross join jsonb_to_recordset($6::jsonb) f(screen_id text, ${RECORD})
left join lateral (select country, app_version, locale from users where environment = $1 and id >= $3 and id <= $3 order by id limit 1) u on true
order by f.purchased_at, f.expires_at, f.subject collate "C"
returning id::text, subject`

/** Inserts transactions as the store states them. Gives the id of each, by subject. */
export async function insertStated(
  tx: Tx,
  { environment, lineage, owner, platform, triggers }: Recording,
  purchases: NewPurchase[],
): Promise<[subject: string, id: string][]> {
  if (purchases.length === 0) return []
  const { rows } = await tx.query<{ id: string; subject: string }>({
    name: 'insert-stated',
    text: INSERT,
    values: [environment, lineage, owner, platform, triggers, JSON.stringify(purchases)],
  })
  return rows.map(({ id, subject }) => [subject, id])
}

/** Rows of one SQL statement: a lineage may have tens of thousands of purchases, and writing their JSON blocks the process. */
const ROWS_AT_ONCE = 500

const UPDATE = `
update purchases p set ${names.map(name => `${name} = f.${name}`).join(', ')}, verified_at = environment_now(p.environment),
  screen_id = coalesce(p.screen_id, f.screen_id),
  updated_at = case when (${list('p')}) is distinct from (${list('f')}) then environment_now(p.environment) else p.updated_at end
from jsonb_to_recordset($1::jsonb) f(id bigint, is_reported boolean, screen_id text, ${RECORD})
where p.id = f.id and (f.is_reported or (${list('p')}) is distinct from (${list('f')}))`

/** Writes what the store states of recorded purchases. `is_reported`: the store has reported something new, which confirms the purchase at least. */
export async function updateStated(tx: Tx, purchases: (NewPurchase & { id: number; is_reported: boolean })[]): Promise<void> {
  for (let from = 0; from < purchases.length; from += ROWS_AT_ONCE) {
    const some = purchases.slice(from, from + ROWS_AT_ONCE)
    await tx.query({ name: 'update-stated', text: UPDATE, values: [JSON.stringify(some)] })
  }
}
