import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { type ClaimedJob, deleteJob, lockClaim, lockFence } from '../../durable/jobs/job.ts'
import { suspendJobs } from '../../durable/jobs/sql.ts'
import { type LockedRun, wakeLockedRuns } from '../../durable/jobs/wake-runs.ts'
import { DELIVERY_DUE, type DeliveryAttempt, expiry, withAttempt } from './delivery.ts'
import type { OpenDelivery } from './load.ts'
import { lockOrderingKeys, orderingKeysOf, scheduleNext } from './ordering-key.ts'
import { scheduleProbe } from './probe.ts'
import { lockWaitingRuns } from './waiting-runs.ts'

/** After so many failed attempts in a row, or events refused of so many users in a row, the integration is in error. */
const FAILURES_TO_ERROR = 10

/** Besides 5xx and redirects, the statuses that are about the receiver or its address, and not about the event. */
const OF_RECEIVER = new Set([401, 403, 404, 408, 410, 429])

/**
 * The cause of a failed attempt. The receiver: no answer, or an answer that every event would get. The event: a refusal that other events
 * need not get. Nothing: the event could not be sent at all.
 */
function subjectOf({ attempt: { http_status: status }, outcome }: FailedAttempt): 'receiver' | 'event' | 'nothing' {
  if (outcome === 'gone') return 'receiver'
  if (status === null) return outcome === 'retry' ? 'receiver' : 'nothing'
  const isRefusal = status < 400 ? outcome === 'reject' : status < 500 && !OF_RECEIVER.has(status)
  return isRefusal ? 'event' : 'receiver'
}

type FailedAttempt = {
  claimed: ClaimedJob
  delivery: OpenDelivery
  attempt: Omit<DeliveryAttempt, 'number'>
  outcome: 'retry' | 'reject' | 'gone'
  /** Seconds until the next attempt, by the number of attempts of this round; null: that was the last attempt. */
  waitAfter(attempts: number): number | null
  /** An earlier try to record this attempt may have been committed. */
  isRepeat?: boolean
}

/** The delivery's state after the failed attempt. */
type RecordedFailure = { is: 'failed'; why: string } | { is: 'waits'; seconds: number } | { is: 'held' }

type Integration = { active: 0 | 1 | 2; is_probed: boolean }
type Counted = Integration & { failures_in_row: number; refused_users: number }

/** Whether the attempt was a probe that leaves both the integration and the delivery as they were. */
const isFailedProbe = ({ delivery, outcome }: FailedAttempt, active: Integration['active'] | undefined): boolean =>
  delivery.isProbe && outcome === 'retry' && active !== 1

/**
 * In SQL: the users of refused events after this attempt. `user` is null unless the first attempt of a delivery was refused; a failure of the
 * receiver begins anew.
 */
const refusedUsers = (about: string, user: string): string => `
  case when ${about} = 'receiver' then '{}'
    when ${user}::text is null or cardinality(refused_users) >= ${FAILURES_TO_ERROR} or hashtextextended(${user}, 0) = any (refused_users)
    then refused_users else refused_users || hashtextextended(${user}, 0) end`

const COUNT_FAILURE = `
  update integrations set delivery_error_count = delivery_error_count + 1, failures_in_row = $2, last_error_at = t, last_error_message = $3,
    probing = nullif(probing, $4::bigint), active = $5, is_probed = $6, held_since = case when $7 then t else held_since end,
    refused_users = ${refusedUsers('$10', '$11')}, failed_probe = case when $9 then $4 else failed_probe end,
    updated_at = case when $7 then date_trunc('second', t) else updated_at end
  from environment_now($8) t where number = $1`

/** Counts the attempt; gives the integration after it, null when the integration is deleted. */
async function countFailure(tx: Tx, failed: FailedAttempt): Promise<Integration | null> {
  const { delivery, attempt, outcome } = failed
  const { integration: number, environment } = delivery
  const about = subjectOf(failed)
  const isFirst = about === 'event' && delivery.round_attempts === 0
  const refused = isFirst ? (delivery.occurrence.user?.id ?? delivery.id) : null
  const { rows } = await tx.query<Counted>({
    name: 'lock-failing-integration',
    text: `select active, is_probed, failures_in_row, cardinality(${refusedUsers('$2', '$3')}) as refused_users
           from integrations where number = $1 and deleted_at is null for no key update`,
    values: [number, about, refused],
  })
  const before = rows[0]
  if (!before) return null
  const failures_in_row = before.failures_in_row + (about === 'receiver' ? 1 : 0)
  const isGone = outcome === 'gone'
  const isRefusingAll = isFirst && before.refused_users >= FAILURES_TO_ERROR
  const entersError = before.active === 1 && (isGone || failures_in_row >= FAILURES_TO_ERROR || isRefusingAll)
  const after = {
    active: entersError ? (2 as const) : before.active,
    is_probed: (before.is_probed || entersError) && !isGone,
  }
  await tx.query({
    name: 'count-failure',
    text: COUNT_FAILURE,
    values: [
      number,
      failures_in_row,
      attempt.error ?? 'failed',
      delivery.number,
      after.active,
      after.is_probed,
      entersError,
      environment,
      isFailedProbe(failed, after.active),
      about,
      refused,
    ],
  })
  return after
}

/**
 * Ends a delivery as failed: the next delivery of its ordering key is due, and the run that waits for it is woken. `added`: how many attempts
 * are new. The ordering key, the `waiting` run and the fence are locked.
 */
export async function failDelivery(
  tx: Tx,
  delivery: OpenDelivery,
  reason: string,
  attempts: DeliveryAttempt[],
  added: number,
  waiting: readonly LockedRun[],
): Promise<void> {
  await tx.query(
    `update deliveries set status = 'failed', reason = $2, attempts = $3, attempt_count = attempt_count + $4,
       round_attempts = round_attempts + $4, next_attempt_at = null, ended_at = date_trunc('second', environment_now(environment))
     where number = $1`,
    [delivery.number, reason, JSON.stringify(attempts), added],
  )
  await deleteJob(tx, DELIVERY_DUE, delivery.number)
  await scheduleNext(tx, orderingKeysOf([delivery]))
  await wakeLockedRuns(tx, waiting, null)
}

/** The next attempt is due after `seconds`; null: the delivery is held until it expires. */
async function retryDelivery(tx: Tx, { number }: OpenDelivery, attempts: DeliveryAttempt[], seconds: number | null): Promise<void> {
  await tx.query(
    `update deliveries set status = 'retrying', attempts = $2, attempt_count = attempt_count + 1, round_attempts = round_attempts + 1,
       next_attempt_at = environment_now(environment) + make_interval(secs => $3)
     where number = $1`,
    [number, JSON.stringify(attempts), seconds],
  )
  if (seconds === null) return suspendUntilExpiry(tx, number)
  await tx.query(
    suspendJobs({ kind: DELIVERY_DUE, dueAt: 'v.next_attempt_at', from: 'deliveries v', where: 'd.id = $1 and v.number = $1' }),
    [number],
  )
}

async function suspendUntilExpiry(tx: Tx, number: number): Promise<void> {
  await tx.query(
    suspendJobs({
      kind: DELIVERY_DUE,
      dueAt: expiry('v.created_at'),
      from: 'deliveries v join integrations i on i.number = v.integration',
      where: 'd.id = $1 and v.number = $1',
    }),
    [number],
  )
}

/** Counts a failed attempt and records the delivery's next state, in one transaction. Throws `LeaseLost`. */
export const recordFailure = (pool: Pool, failed: FailedAttempt): Promise<RecordedFailure> =>
  transaction(pool, async tx => {
    const { claimed, delivery, attempt, outcome, isRepeat = false } = failed
    const integration = await countFailure(tx, failed)
    await lockOrderingKeys(tx, orderingKeysOf([delivery]))
    const waiting = await lockWaitingRuns(tx, [delivery])
    // Every record of a failure ends the claim: a repeat that finds it ended was recorded before.
    await (isRepeat ? lockClaim(tx, claimed) : lockFence(tx, claimed))
    const attempts = withAttempt(delivery, attempt)
    if (integration?.is_probed) await scheduleProbe(tx, delivery.environment, [delivery.integration])
    const end = async (why: string): Promise<RecordedFailure> => {
      await failDelivery(tx, delivery, why, attempts, 1, waiting)
      return { is: 'failed', why }
    }
    if (outcome !== 'retry') return end(outcome === 'gone' ? 'gone' : 'rejected')
    const isActive = integration?.active === 1
    // A probe does not count as an attempt of the delivery.
    if (isFailedProbe(failed, integration?.active)) {
      await suspendUntilExpiry(tx, delivery.number)
      return { is: 'held' }
    }
    const seconds = failed.waitAfter(delivery.round_attempts + 1)
    if (seconds === null) return end('exhausted')
    await retryDelivery(tx, delivery, attempts, isActive ? seconds : null)
    return isActive ? { is: 'waits', seconds } : { is: 'held' }
  })
