import type { Db, Pool, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** As long as what was erased, and what rates were, explains figures. */
export const CAUSES_KEPT_DAYS = 90

const KEEP = `
with facts as (
  select kind, happened, bought_on, recorded, platform, product, currency, country, amount, proceeds, usd_given, proceeds_usd, is_loyal,
    case when subscription is not null then 1 end as subscription
  from transaction_facts where environment = $1 and generation = $2 and user_no = $3 and kind is not null
  union all
  select null, created, null, created, null, null, null, null, null, null, null, null, null, null
  from user_facts where environment = $1 and generation = $2 and user_no = $3 and not gone
)
insert into erased_facts (environment, erased_at, kind, happened, bought_on, recorded, platform, product, currency, country, amount, proceeds,
  usd_given, proceeds_usd, is_loyal, subscription)
select $1, environment_now($1), kind, happened - happened % 86400, bought_on, recorded - recorded % 86400, platform, product, currency, country,
  amount, proceeds, usd_given, proceeds_usd, is_loyal, subscription
from facts`

/** Keeps what explains later why figures changed, before the facts of a user go: facts by whole days, of nobody in particular. */
export async function keepErased(tx: Tx, environment: Environment, generation: number, no: number): Promise<void> {
  await tx.query(KEEP, [environment, generation, no])
}

/** From when on (Unix seconds) erasures and changed rates are known. */
export async function causesKnownSince(db: Db): Promise<number> {
  const { rows } = await db.query<{ since: number }>({
    name: 'causes-known-since',
    text: `select ceil(extract(epoch from greatest(since, clock_timestamp() - make_interval(days => $1))))::float8 as since from causes_known`,
    values: [CAUSES_KEPT_DAYS],
  })
  return rows[0]!.since
}

const DROPS = [
  ['erased_facts', 'erased_at'],
  ['replaced_rates', 'replaced_at'],
].map(
  ([table, time]) => `delete from ${table} where ctid = any (array(
    select ctid from ${table} where ${time} < clock_timestamp() - make_interval(days => ${CAUSES_KEPT_DAYS}) limit $1))`,
)

/** Removes what is kept no longer, at most `batch` rows of each table. */
export async function dropOldCauses(pool: Pool, batch: number): Promise<number> {
  let dropped = 0
  for (const text of DROPS) dropped += (await pool.query(text, [batch])).rowCount ?? 0
  return dropped
}
