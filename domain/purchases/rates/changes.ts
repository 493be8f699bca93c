import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { announceJobs, deleteJob } from '../../durable/jobs/job.ts'
import { insertJobs, suspendJobs } from '../../durable/jobs/sql.ts'
import { markStored } from '../../durable/marks/mark.ts'
import type { Environment } from '../../kernel/environment.ts'
import { lockUsers } from '../../users/user.ts'

// Facts and events hold no converted money, so an import of rates writes none of them. Only the sums stored with customers follow, as soon as
// their users are folded again: a job of each environment marks the users of the transactions of the changed currencies and days.

/** Kind of the job; its id is that of the environment. */
export const RATES_DUE = 'rates'

/** Days as YYYY-MM-DD; from_day null: from the beginning; until_day (exclusive) null: for ever. */
export type ChangedRates = { currencies: string[]; from_day: string | null; until_day: string | null }

/** Facts that one step looks at. */
const AT_ONCE = 2_000

/** Call it in the transaction that changes the rates. Work that an earlier import has left is repeated together with this one. */
export async function recordRateChanges(tx: Tx, { currencies, from_day, until_day }: ChangedRates): Promise<void> {
  await tx.query(
    `insert into rate_changes as r (environment, currencies, from_day, until_day)
     select id, $1, $2, $3 from environments order by id
     on conflict (environment) do update set settles_at = null, happened = null, id = null,
       currencies = array(select distinct unnest(r.currencies || excluded.currencies) order by 1),
       from_day = case when r.from_day is not null and excluded.from_day is not null then least(r.from_day, excluded.from_day) end,
       until_day = case when r.until_day is not null and excluded.until_day is not null then greatest(r.until_day, excluded.until_day) end`,
    [currencies, from_day, until_day],
  )
  await tx.query(
    insertJobs({
      kind: RATES_DUE,
      id: 'id',
      environment: 'id',
      dueAt: 'environment_now(id)',
      from: 'environments order by id',
      ifExists: 'keep',
    }),
  )
  announceJobs(tx, RATES_DUE)
}

type Change = { generation: number; happened: string | null; id: string | null }

/** One step, in one transaction with the position that it has reached. */
export const markRateChanges = (pool: Pool, environment: Environment): Promise<unknown> =>
  transaction(pool, async tx => {
    const left = await step(tx, environment)
    if (left === 'nothing') await deleteJob(tx, RATES_DUE, environment)
    else
      await tx.query(
        suspendJobs({
          kind: RATES_DUE,
          dueAt: `environment_now($1::int)${left === 'unsettled' ? ` + interval '1 second'` : ''}`,
          where: 'd.id = $1::int',
        }),
        [environment],
      )
  })

async function step(tx: Tx, environment: Environment): Promise<'more' | 'unsettled' | 'nothing'> {
  const { rows } = await tx.query<Change>(
    `select coalesce(s.generation, 1) as generation, r.happened::text, r.id::text
     from rate_changes r left join fact_state s on s.environment = r.environment where r.environment = $1 for update of r`,
    [environment],
  )
  const change = rows[0]
  if (!change) return 'nothing'
  if (!(await isSettled(tx, environment))) return 'unsettled'
  const { users, read, happened, id } = await usersAfter(tx, environment, change)
  await lockUsers(tx, environment, [], users)
  await markStored(tx, environment, users)
  if (read < AT_ONCE) {
    await tx.query('delete from rate_changes where environment = $1', [environment])
    return 'nothing'
  }
  await tx.query('update rate_changes set happened = $2, id = $3 where environment = $1', [environment, happened, id])
  return 'more'
}

/**
 * Whether every transaction has ended that may have read the former rates: such a transaction has its number by then, because it locks users
 * before it reads rates, and the number is below that of this transaction. Its facts are visible now, or its marks bring them later.
 * A number above is of another server, from which the database was restored.
 */
async function isSettled(tx: Tx, environment: Environment): Promise<boolean> {
  const { rowCount } = await tx.query(
    `with own as materialized (select pg_current_xact_id() as number, pg_snapshot_xmin(pg_current_snapshot()) as oldest), begun as (
       update rate_changes set settles_at = own.number from own
       where environment = $1 and (settles_at is null or settles_at > own.number)
     )
     select from rate_changes, own where environment = $1 and settles_at <= own.oldest`,
    [environment],
  )
  return rowCount === 1
}

type Looked = { users: string[]; read: number; happened: string | null; id: string | null }

// A row that is folded meanwhile is folded with the new rates, so it does not matter where the new row stands.
const LOOK = `
with range as materialized (
  select r.currencies, greatest(coalesce(extract(epoch from r.from_day)::bigint, -9223372036854775807), r.happened) as lowest,
    coalesce(extract(epoch from r.until_day)::bigint, 9223372036854775807) as upper, r.happened, coalesce(r.id, 0) as id
  from rate_changes r where r.environment = $1
), words as materialized (
  select w.no from range cross join lateral unnest(range.currencies) c(word)
  cross join lateral (select no from fact_words where environment = $1 and word = c.word limit 1) w
), looked as materialized (
  select t.happened, t.id, t.user_no, t.currency from range cross join lateral (
    select happened, id, user_no, currency from transaction_facts
    where environment = $1 and generation = $2 and happened >= range.lowest and happened < range.upper
      and (range.happened is null or (happened, id) > (range.happened, range.id))
    order by happened, id limit ${AT_ONCE}) t
)
select array(select distinct u.id from looked join words on words.no = looked.currency
    cross join lateral (select id from users where no = looked.user_no limit 1) u) as users,
  (select count(*) from looked)::int as read, l.happened::text, l.id::text
from (select) one left join lateral (select happened, id from looked order by happened desc, id desc limit 1) l on true`

async function usersAfter(tx: Tx, environment: Environment, { generation }: Change): Promise<Looked> {
  const { rows } = await tx.query<Looked>({ name: 'users-of-rate-changes', text: LOOK, values: [environment, generation] })
  return rows[0]!
}
