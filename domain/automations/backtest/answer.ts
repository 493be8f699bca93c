import type { Db } from '../../../store/connect.ts'
import { loadTriggers } from '../../automation-runs/trigger.ts'
import type { Environment } from '../../environment.ts'
import { branchHolds } from '../branch.ts'
import { asksOfUser } from '../conditions.ts'
import { usersMeeting } from '../members.ts'
import type { Ask, Told } from './play.ts'

type EventAsk = Extract<Ask, { is: 'event' }>
type BranchAsk = Extract<Ask, { is: 'branch' }>

// The user's events first, whatever else there is an index for: a partition may be long, and the event may never have come.
const FIRST = `
  select k.i::int as i, e.log_offset, e.received_at::text as received_at
  from unnest($2::text[], $3::smallint[], $4::text[], $5::bigint[], $6::timestamptz[], $7::timestamptz[]) with ordinality
    k(user_id, partition, name, after, since, before, i)
  cross join lateral (
    select log_offset, received_at from (
      select log_offset, received_at, partition, name, triggers from events where environment = $1 and user_id = k.user_id offset 0) u
    where name = k.name and partition = k.partition and triggers and log_offset > k.after
      and received_at >= coalesce(k.since, '-infinity') and received_at < k.before
    order by log_offset limit 1) e`

async function firstEvents(db: Db, environment: Environment, asks: readonly EventAsk[]): Promise<Told[]> {
  if (asks.length === 0) return []
  const of = (value: (wait: EventAsk['wait']) => unknown) => asks.map(({ wait }) => value(wait))
  const { rows } = await db.query<{ i: number; log_offset: number; received_at: string }>({
    name: 'backtest-first-events',
    text: FIRST,
    values: [environment, of(w => w.user), of(w => w.partition), of(w => w.name), of(w => w.after), of(w => w.since), of(w => w.before)],
  })
  const told: Told[] = asks.map(() => null)
  for (const { i, ...found } of rows) told[i - 1] = found
  return told
}

/** Of each branch, whether what it asks of the user is so: one statement for all that ask the same. */
async function usersHold(db: Db, environment: Environment, asks: readonly BranchAsk[]): Promise<(ask: BranchAsk) => boolean> {
  const groups = Map.groupBy(asks, ({ conditions }) => conditions)
  const meeting = new Map<BranchAsk['conditions'], Set<string> | null>()
  for (const [conditions, some] of groups) {
    const ofUser = conditions.filter(asksOfUser)
    const users = [...new Set(some.flatMap(({ user }) => user ?? []))]
    meeting.set(conditions, ofUser.length === 0 ? null : await usersMeeting(db, environment, ofUser, users))
  }
  return ({ conditions, user }) => {
    const users = meeting.get(conditions)!
    return users === null || (user !== null && users.has(user))
  }
}

async function branches(db: Db, environment: Environment, asks: readonly BranchAsk[]): Promise<Told[]> {
  if (asks.length === 0) return []
  const holdsOfUser = await usersHold(db, environment, asks)
  const asksOfEvent = ({ conditions }: BranchAsk) => conditions.some(({ metric }) => metric.startsWith('event:'))
  const withEvent = asks.filter(ask => asksOfEvent(ask) && holdsOfUser(ask))
  const occurrences = await loadTriggers(
    db,
    withEvent.map(({ trigger }) => trigger),
  )
  const occurrenceOf = new Map(withEvent.map((ask, i) => [ask, occurrences[i] ?? null]))
  return Promise.all(
    asks.map(async ask => {
      if (!holdsOfUser(ask)) return false
      const own = ask.conditions.filter(condition => !asksOfUser(condition))
      return branchHolds(db, environment, own, { user: null, event: async () => occurrenceOf.get(ask) ?? null, steps: ask.steps })
    }),
  )
}

/** Answers what many runs ask at the same time, in a few statements. */
export async function answerAll(db: Db, environment: Environment, asks: readonly Ask[]): Promise<Map<Ask, Told>> {
  const events = asks.filter(ask => ask.is === 'event')
  const ways = asks.filter(ask => ask.is === 'branch')
  const found = await firstEvents(db, environment, events)
  const taken = await branches(db, environment, ways)
  return new Map<Ask, Told>([...events.map((ask, i) => [ask, found[i]!] as const), ...ways.map((ask, i) => [ask, taken[i]!] as const)])
}
