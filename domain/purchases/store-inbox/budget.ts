import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'

/** Requests per second that all processes together send to the API of a store. */
const PER_SECOND: Record<StorePlatform, Record<EnvironmentKind, number>> = {
  apple: { production: 40, sandbox: 4 },
  google: { production: 40, sandbox: 40 },
  stripe: { production: 20, sandbox: 20 },
  paddle: { production: 3, sandbox: 3 },
}

export const requestsPerSecond = (platform: StorePlatform, environment: EnvironmentKind): number => PER_SECOND[platform][environment]

/** The part of a full bucket that is reserved for claims: their callers wait for an answer. */
const KEPT_FOR_CLAIMS = 1 / 4

/** `environment` null: notifications do not tell it. `family`: a part of the store's API with a quota of its own. */
export type StoreBudget = { project: number; platform: StorePlatform; environment: EnvironmentKind | null; family?: string }

/** `afterMs`: when a request may be granted, if no other process takes it. */
export type Granted = { is: 'granted' } | { is: 'wait'; afterMs: number }

/** Paddle counts by address: all projects of the installation share one budget. */
const keyOf = ({ project, platform, environment, family = '' }: StoreBudget) =>
  platform === 'paddle' ? [0, platform, null, family] : [project, platform, environment ?? 'production', family]

const KEY = `(select coalesce((select id from environments where project = $1 and kind = $3), 0))`
/** The requests in the bucket now. The clocks of two statements may be in the other order than their locks. */
const LEVEL = 'least($5::float8, b.tokens + $5::float8 * greatest(0, extract(epoch from n.t - b.filled_at)::float8))'

// One statement reads the level, decides and takes: of two processes the later one sees what the earlier one has left.
const TAKE = `
with n as materialized (select clock_timestamp() as t), taken as (
  insert into store_budgets as b (project, platform, environment, family, tokens, filled_at)
  select $1, $2, ${KEY}, $4, $5::float8 - 1, n.t from n
  on conflict (project, platform, environment, family) do update
    set tokens = (select ${LEVEL} - 1 from n), filled_at = (select greatest(b.filled_at, n.t) from n), rests_until = null
    where (select coalesce(b.rests_until <= n.t, true) and ${LEVEL} - 1 >= $6::float8 from n)
  returning 1
)
select exists (select 1 from taken) as granted, coalesce((
  select greatest(extract(epoch from b.rests_until - n.t)::float8, ($6::float8 + 1 - ${LEVEL}) / $5::float8, 0.001) * 1000
  from store_budgets b, n where b.project = $1 and b.platform = $2 and b.environment = ${KEY} and b.family = $4), 1) as wait`

/** Takes one request from the budget, or returns how long to wait. */
export async function takeRequest(db: Db, budget: StoreBudget, purpose: 'claim' | 'refresh'): Promise<Granted> {
  const size = PER_SECOND[budget.platform][budget.environment ?? 'production']
  const { rows } = await db.query<{ granted: boolean; wait: number }>({
    name: 'take-store-request',
    text: TAKE,
    values: [...keyOf(budget), size, purpose === 'claim' ? 0 : size * KEPT_FOR_CLAIMS],
  })
  const { granted, wait } = rows[0]!
  return granted ? { is: 'granted' } : { is: 'wait', afterMs: Math.ceil(wait) }
}

/** The store has refused a request as one too many: no request is granted for this long, not even to claims. */
export async function restBudget(db: Db, budget: StoreBudget, afterMs: number): Promise<void> {
  await db.query({
    name: 'rest-store-budget',
    text: `insert into store_budgets as b (project, platform, environment, family, tokens, filled_at, rests_until)
           select $1, $2, ${KEY}, $4, 0, t, t + make_interval(secs => $5::float8 / 1000) from clock_timestamp() t
           on conflict (project, platform, environment, family) do update set rests_until = greatest(b.rests_until, excluded.rests_until)`,
    values: [...keyOf(budget), afterMs],
  })
}
