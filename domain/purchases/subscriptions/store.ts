import type { Tx } from '../../../store/connect.ts'
import { deleteJobs, insertJobs } from '../../durable/jobs/sql.ts'
import type { Environment } from '../../kernel/environment.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import type { Subscription } from './lineages.ts'
import { LAST_MS } from './period.ts'
import { bestStatus, type CustomerStatus, statusOf } from './status.ts'
import { timedEventsOf } from './timed-events.ts'
import { nextChange, stateAt } from './timeline.ts'
import { waitingOf } from './waiting.ts'

/** Kind of the jobs that change a subscription when its time has come. A job's id is the subscription's. */
export const SUBSCRIPTION_DUE = 'subscription'

const iso = (ms: number) => new Date(Math.min(ms, LAST_MS)).toISOString()

const never = Number.POSITIVE_INFINITY

/**
 * When time changes the subscription next: its state changes, or an event falls due. An event that is due already and not emitted is due
 * now: posted events move the job of the subscription without emitting its events.
 */
function nextDueAt(subscription: Subscription, now: number): number | null {
  const { timeline, links } = subscription
  const { until, begins, ends } = waitingOf(subscription, now)
  const dues = timedEventsOf(links).flatMap(({ slug, period: { purchase }, due }) => {
    if (!purchase) return []
    const [event, waiting] = slug === 'trial_still_active' ? ['still_active', begins] : ['expired', ends]
    return waiting.has(purchase) || purchase.emitted.includes(event) ? [] : [Math.max(due, now)]
  })
  const next = Math.min(...dues, nextChange(timeline, now) ?? never, until ?? never)
  return Number.isFinite(next) ? next : null
}

/**
 * Deletes the subscriptions of lineages that the users no longer own: transferred, or superseded by a purchase with another name. Before that, and
 * before any other is overwritten, it writes a version of each user whose state time has changed since the last version: a file of customers may
 * have shown that state, and the stored status, from before it, may equal the next one.
 */
const DROP = `
with passed as (
  update users u set status = u.status
  from (select distinct id from unnest($2::text[]) u(id) offset 0) k
  cross join lateral (select ctid as row_id, changed_at from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1) t
  cross join (select environment_now($1) as now offset 0) n
  where u.ctid = t.row_id and (select 1 from subscriptions s cross join lateral unnest(s.state_at) at
    where s.environment = $1 and s.user_id = k.id and at >= t.changed_at and at <= n.now limit 1) is not null
), superseded as materialized (
  select s.id from (select distinct id from unnest($2::text[]) u(id)) u
    cross join lateral (select id, user_id, platform, lineage from subscriptions where environment = $1 and user_id = u.id offset 0) s
  where not exists (select 1 from unnest($3::text[], $4::text[], $5::text[]) n(user_id, platform, lineage)
    where n.user_id = s.user_id and n.platform = s.platform and n.lineage = s.lineage)
), deleted as (
  delete from subscriptions where id = any (array(select id from superseded)) returning id
)
${deleteJobs(SUBSCRIPTION_DUE, 'any (array(select id from deleted))')}`

const WRITE = `
with given as (
  select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::boolean[], $9::timestamptz[],
    $10::boolean[], $11::text[])
    as g(user_id, platform, lineage, state_at, states, auto_renewing, ever_paid, due_at, is_paused, planned_product)
), written as (
  insert into subscriptions (environment, user_id, platform, lineage, state_at, states, auto_renewing, ever_paid, is_paused, planned_product)
  select $1, user_id, platform, lineage, state_at::timestamptz[], states::text[], auto_renewing, ever_paid, is_paused, planned_product from given
  order by user_id, platform, lineage
  on conflict (environment, user_id, platform, md5(lineage)) do update
    set state_at = excluded.state_at, states = excluded.states, auto_renewing = excluded.auto_renewing, ever_paid = excluded.ever_paid,
      is_paused = excluded.is_paused, planned_product = excluded.planned_product
  returning id, user_id, platform, lineage
), scheduled as (
  select w.id, g.due_at from written w join given g on g.user_id = w.user_id and g.platform = w.platform and g.lineage = w.lineage
), unscheduled as (
  ${deleteJobs(SUBSCRIPTION_DUE, 'any (array(select id from scheduled where due_at is null))')}
)
${insertJobs({
  kind: SUBSCRIPTION_DUE,
  id: 'id',
  environment: '$1',
  dueAt: 'due_at',
  from: 'scheduled where due_at is not null order by id',
  ifExists: 'reschedule',
})}`

/** Writes the users' subscriptions as they are now and schedules the next change of each; gives the users' statuses. The users are locked. */
export async function storeSubscriptions(
  tx: Tx,
  environment: Environment,
  users: string[],
  subscriptions: Subscription[],
  now: number,
): Promise<Map<string, CustomerStatus>> {
  const step = inSteps()
  const column = <T>(value: (s: Subscription) => T) => subscriptions.map(value)
  /** A column whose value takes as long as the history of the subscription. */
  async function longColumn<T>(value: (s: Subscription) => T): Promise<T[]> {
    const values: T[] = []
    for (const subscription of subscriptions) {
      values.push(value(subscription))
      await step(subscription.timeline.length)
    }
    return values
  }
  const names = [column(s => s.user), column(s => s.platform), column(s => s.lineage)]
  await tx.query({ name: 'drop-subscriptions', text: DROP, values: [environment, users, ...names] })
  if (subscriptions.length > 0)
    await tx.query({
      name: 'write-subscriptions',
      text: WRITE,
      values: [
        environment,
        ...names,
        await longColumn(s => `{${s.timeline.map(({ at }) => iso(at)).join(',')}}`),
        await longColumn(s => `{${s.timeline.map(({ state }) => state).join(',')}}`),
        column(s => s.autoRenewing),
        column(s => s.everPaid),
        await longColumn(s => {
          const at = nextDueAt(s, now)
          return at === null ? null : iso(at)
        }),
        column(s => s.isPaused),
        column(s => s.plannedProduct),
      ],
    })
  const byUser = Map.groupBy(subscriptions, ({ user }) => user)
  const status = (user: string) =>
    bestStatus((byUser.get(user) ?? []).map(s => statusOf(stateAt(s.timeline, now), s.autoRenewing, s.everPaid)))
  return new Map(users.map(user => [user, status(user)]))
}
