import type { Pool, Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/** How long erased facts and former rates are kept, to explain why figures changed. */
export const CAUSES_KEPT_DAYS = 90

const KEY = [
  ...['kind', 'recorded', 'happened', 'bought_on', 'platform', 'product', 'currency', 'country', 'amount', 'proceeds', 'usd_given'],
  ...['proceeds_usd', 'is_loyal', 'subscription'],
].join(', ')

/** The columns with the number of a word. */
export const WORDS_OF_ERASED = ['platform', 'product', 'currency', 'country']

// The time is the day alone: the audit log has the second of an erasure with a pseudonym of the user.
const KEEP = `
with erased as (
  select kind, recorded - recorded % 86400 as recorded, happened - happened % 86400 as happened, bought_on, platform, product, currency, country,
    amount, proceeds, usd_given, proceeds_usd, is_loyal, case when subscription is not null then 1 end as subscription
  from transaction_facts where environment = $1 and generation = $2 and user_no = $3 and kind is not null
  union all
  select null, null, null, null, null, null, null, null, null, null, null, null, null, null
  from user_facts where environment = $1 and generation = $2 and user_no = $3 and not gone
)
insert into erased_facts as e (environment, erased_at, ${KEY}, facts)
select $1, date_trunc('day', environment_now($1), 'UTC'), ${KEY}, count(*) from erased group by ${KEY} order by ${KEY}
on conflict (environment, erased_at, ${KEY}) do update set facts = e.facts + excluded.facts`

/**
 * Keeps data that later explain why figures changed, before the facts of a user are deleted: facts by whole days, without the user. The
 * state of the facts is locked, so no two erasures of an environment wait for rows of each other.
 */
export async function keepErased(tx: Tx, environment: Environment, generation: number, no: number): Promise<void> {
  await tx.query(KEEP, [environment, generation, no])
}

// A day more: of the day on which it was erased, the last second counts.
const DROP_ERASED = `
with old as materialized (
  select f.row from environments e cross join lateral (
    select ctid as row from erased_facts where environment = e.id
      and erased_at < clock_timestamp() + e.clock_offset - make_interval(days => ${CAUSES_KEPT_DAYS} + 1) order by erased_at limit $1) f
  where $2::int is null or e.id = $2 limit $1
)
delete from erased_facts where ctid = any (array(select row from old))`

const DROP_RATES = `delete from replaced_rates where ctid = any (array(
  select ctid from replaced_rates where replaced_at < clock_timestamp() - make_interval(days => ${CAUSES_KEPT_DAYS}) limit $1))`

/**
 * Removes rows that are kept no longer, at most `batch` rows of each table: erased facts by the clock of their environment; rates, which
 * belong to all environments, by real time.
 */
export async function dropOldCauses(pool: Pool, batch: number, environment: Environment | null): Promise<number> {
  const { rowCount } = await pool.query(DROP_ERASED, [batch, environment])
  const rates = environment === null ? await pool.query(DROP_RATES, [batch]) : null
  return (rowCount ?? 0) + (rates?.rowCount ?? 0)
}
