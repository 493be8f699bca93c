import type { Tx } from '../../store/connect.ts'
import { atOnce } from '../../store/transaction.ts'
import { foldUsersWithin } from '../analytics/folding/fold-batch.ts'
import type { InsertCapacity } from '../durable/jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../durable/jobs/job.ts'
import type { LogEvent } from '../durable/log/consumer.ts'
import type { Environment } from '../kernel/environment.ts'
import { logMicros } from '../kernel/time/instant.ts'
import { type NewAutomationRun, startRuns } from './automation-runs/start.ts'
import { skipReason } from './automation-runs/start-rules.ts'
import { wakeWaits } from './automation-runs/wake-waits.ts'
import { loadHistories } from './history.ts'
import { type LiveAutomation, lockLive } from './live.ts'
import { membersOf } from './members.ts'

/** An event and an automation that it starts, or would start. */
type Match = { automation: LiveAutomation; event: LogEvent; at: number }

const matchesOf = (events: readonly LogEvent[], live: readonly LiveAutomation[]): Match[] =>
  events.flatMap(event =>
    live.flatMap(automation => {
      const from = automation.from.get(event.name)?.[event.partition]
      return from !== undefined && event.log_offset >= from ? [{ automation, event, at: logMicros(event.received_at) }] : []
    }),
  )

/** The users of the events who are in the segments of the automations, by segment. */
async function membersOfAll(tx: Tx, environment: Environment, matches: readonly Match[]): Promise<Map<string, Set<string>>> {
  const users = new Map<string, Set<string>>()
  for (const { automation, event } of matches) {
    const { segments } = automation.data
    if (segments === null || event.user_id === null || automation.isPaused) continue
    const some = users.get(segments) ?? new Set()
    users.set(segments, some.add(event.user_id))
  }
  const members = new Map<string, Set<string>>()
  if (users.size === 0) return members
  await foldUsersWithin(tx, environment, [...new Set([...users.values()].flatMap(some => [...some]))])
  // The statement of a segment is composed from its conditions: a generic plan would not fit it.
  await tx.query('set local plan_cache_mode = force_custom_plan')
  for (const [segment, some] of users) members.set(segment, await membersOf(tx, environment, segment, [...some]))
  return members
}

/** Decides for each match, in the order of the log, whether a run starts: runs that start count for later matches of the batch. */
async function decide(tx: Tx, environment: Environment, matches: readonly Match[]): Promise<NewAutomationRun[]> {
  if (matches.length === 0) return []
  const members = await membersOfAll(tx, environment, matches)
  const candidates = matches.flatMap(({ automation: { id, data, isPaused }, event: { user_id }, at }) =>
    user_id === null || isPaused ? [] : [{ automation: id, data, user: user_id, at }],
  )
  const histories = await loadHistories(tx, environment, candidates)
  return matches.map(({ automation: { id, version, data, isPaused }, event, at }) => {
    const { user_id: user, platform } = event
    const isMember = user !== null && data.segments !== null && members.get(data.segments)?.has(user) === true
    const reason = skipReason(data, { user, platform, isPaused, isMember, history: () => histories.of(id, user!, at) })
    if (reason === null) histories.add(id, user!, at)
    return { automation: id, version, event, reason }
  })
}

/**
 * Creates exactly one run for each event that an active or paused automation names, in the transaction that moves the position: started, or
 * skipped with its reason. Ends the waits for the events.
 */
export async function consumeForAutomations(
  tx: Tx,
  environment: Environment,
  events: LogEvent[],
  capacity: InsertCapacity | null,
): Promise<ClaimedJob[]> {
  const triggering = events.filter(event => event.triggers)
  if (triggering.length === 0) return []
  const live = await lockLive(tx, environment, [...new Set(triggering.map(({ name }) => name))])
  const matches = matchesOf(triggering, live)
  const runs = await decide(tx, environment, matches)
  const [claimed] = await atOnce(
    tx,
    () => startRuns(tx, environment, runs, capacity),
    () => wakeWaits(tx, environment, triggering),
  )
  return claimed
}
