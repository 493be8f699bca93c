import { type DeliveredStep, endDeliveredRuns } from '../../domain/automations/automation-runs/end-delivered.ts'
import { type ClaimedJob, deleteClaimedJob } from '../../domain/durable/jobs/job.ts'
import { AUTOMATION_RUN_DUE } from '../../domain/durable/jobs/wake-runs.ts'
import { openSettings } from '../../domain/integrations/config.ts'
import { DELIVERY_DUE } from '../../domain/integrations/deliveries/delivery.ts'
import { loadDeliveries, type OpenDelivery } from '../../domain/integrations/deliveries/load.ts'
import { recordFailure } from '../../domain/integrations/deliveries/record-failure.ts'
import { recordLapse } from '../../domain/integrations/deliveries/record-lapse.ts'
import { type Delivered, type EndRuns, recordDelivered } from '../../domain/integrations/deliveries/record-success.ts'
import { failCancelledDelivery } from '../../domain/integrations/deliveries/run-cancelled.ts'
import { expireDelivery, leaveDelivery, suspendDeliveries } from '../../domain/integrations/deliveries/suspend.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { batching } from '../../store/batching.ts'
import type { Pool } from '../../store/connect.ts'
import { limitPerKey } from '../../store/limit-per-key.ts'
import type { Within } from '../../store/tracing.ts'
import type { EventDestination, Sent, Settings } from '../destinations/destination.ts'
import { fingerprintOf, noting } from '../destinations/made-request.ts'
import { sendWithin } from '../destinations/send-within.ts'
import { jobLoss, nextWait } from '../engine/attempt.ts'
import { type AtCrashPoint, NOWHERE } from '../engine/crash-point.ts'
import type { JobHandler, Outcome, Signals } from '../engine/handler.ts'
import type { RetryPolicy } from '../engine/policy.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'

export type DeliverDeps = {
  pool: Pool
  secrets: Secrets
  outgoing: Outgoing
  destinations: ReadonlyMap<string, EventDestination>
  policy: RetryPolicy
  at?: AtCrashPoint
}

type Succeeded = Delivered & Pick<Signals, 'claimOnInsert'>

const deliveredStep = ({ delivery, attempt }: Delivered): DeliveredStep | [] => {
  const { run, environment, id, occurrence } = delivery
  const { automation } = occurrence
  return run === null || automation === undefined ? [] : { run, environment, automation, delivery: id, httpStatus: attempt.http_status }
}

/** Records deliveries. The runs that wait for them end, or continue in this process, as far as it has capacity. */
async function recordAll({ pool, at = NOWHERE }: DeliverDeps, items: readonly Succeeded[]): Promise<boolean[]> {
  const environments = new Set(items.flatMap(({ delivery }) => (delivery.run_id === null ? [] : delivery.environment)))
  if (environments.size === 0) return (await recordDelivered(pool, items)).recorded
  const endRuns: EndRuns = async (tx, delivered) => {
    const ended = await endDeliveredRuns(tx, delivered.flatMap(deliveredStep))
    if (ended.size > 0) at('before-end')
    return ended
  }
  const { claimOnInsert } = items[0]!
  const { recorded, ended } = await claimOnInsert(AUTOMATION_RUN_DUE, [...environments], capacity =>
    recordDelivered(pool, items, { capacity, endRuns }),
  )
  if (ended.length > 0) at('ended')
  return recorded
}

/** Reads and records of several deliveries of this worker at the same moment are one statement each. */
const statements = (deps: DeliverDeps) => ({
  load: batching((numbers: readonly number[]) => loadDeliveries(deps.pool, numbers), { name: 'load deliveries' }),
  park: batching((claimed: readonly ClaimedJob[]) => suspendDeliveries(deps.pool, claimed), { name: 'suspend deliveries' }),
  succeed: batching((items: readonly Succeeded[]) => recordAll(deps, items), { max: 200, name: 'record deliveries' }),
})

type Delivering = Required<DeliverDeps> & {
  batched: ReturnType<typeof statements>
  sending: ReturnType<typeof limitPerKey>
  settingsOf: (delivery: OpenDelivery) => Settings
}

/** Concurrent requests to one receiver. The other deliveries that a worker holds are being recorded, or come next. */
const AT_ONCE = 64
/** A worker that holds fewer deliveries leaves most of what it inserts to a sweep and a batch, which write each job once more. */
const HELD = 4 * AT_ONCE

/** Opens the secrets of a configuration once for all deliveries that were loaded with it. */
function openedSettings(secrets: Secrets) {
  const opened = new WeakMap<OpenDelivery['config'], Settings>()
  return ({ config, environment }: OpenDelivery): Settings => {
    const settings = opened.get(config) ?? openSettings({ secrets, environment, integration: config.id }, config)
    opened.set(config, settings)
    return settings
  }
}

/** Sends due deliveries to the integrations and records the results. */
export function deliveryHandler({ at = NOWHERE, ...deps }: DeliverDeps): JobHandler {
  const delivering = {
    ...deps,
    at,
    batched: statements({ ...deps, at }),
    sending: limitPerKey(AT_ONCE),
    settingsOf: openedSettings(deps.secrets),
  }
  return {
    kind: DELIVERY_DUE,
    // Each delivery waits up to ten seconds for another server. The hanging receivers of a project take a quarter of what the others leave.
    concurrency: 4_096,
    share: 1 / 4,
    perDestination: HELD,
    readsTrace: true,
    async handle(claimed, signals) {
      try {
        const outcome = await deliver(claimed, signals, delivering)
        at('delivery-recorded')
        return outcome
      } catch (error) {
        const loss = jobLoss(error, signals)
        if (loss) return loss
        throw error
      }
    },
  }
}

async function deliver(claimed: ClaimedJob, signals: Signals, delivering: Delivering): Promise<Outcome> {
  const tried = await delivering.sending(claimed.destination ?? 0, () => attempt(claimed, signals, delivering))
  return tried.is === 'sent' ? tried.within(() => recordSent(tried, signals, delivering)) : tried
}

type Loaded = { claimed: ClaimedJob; delivery: OpenDelivery; within: Within }
type Attempted = { is: 'sent'; made: Delivered; sent: Sent } & Pick<Loaded, 'within'>

/** Reads the delivery and sends it, unless it must not or cannot be sent now. */
async function attempt(claimed: ClaimedJob, signals: Signals, delivering: Delivering): Promise<Attempted | Outcome> {
  const { batched, pool } = delivering
  if (signals.stopping.aborted) return { is: 'interrupted' }
  if (claimed.hasLapsed) await recordLapse(pool, claimed)
  const delivery = await batched.load(claimed.id)
  if (delivery === null) {
    await deleteClaimedJob(pool, claimed)
    return { is: 'succeeded' }
  }
  const within = await signals.traced(delivery.trace)
  return within(() => attemptLoaded({ claimed, delivery, within }, signals, delivering))
}

async function attemptLoaded(
  { claimed, delivery, within }: Loaded,
  signals: Signals,
  delivering: Delivering,
): Promise<Attempted | Outcome> {
  const { at, destinations, pool } = delivering
  if (delivery.isRunCancelled)
    return (await failCancelledDelivery(pool, claimed, delivery)) ? { is: 'failed', why: 'run_cancelled' } : { is: 'lost' }
  if (delivery.config.active !== 1 && !delivery.isProbe) return hold(claimed, delivery, delivering)
  // The integration was created by a newer version: its workers know the destination, and the delivery keeps all of its attempts.
  const destination = destinations.get(delivery.config.slug)
  if (!destination) return (await leaveDelivery(pool, claimed)) ? { is: 'suspended', why: 'not_available', isRetry: true } : { is: 'lost' }
  at('before-effect')
  if (signals.stopping.aborted) return { is: 'interrupted' }
  if (signals.lease.aborted || !signals.isHeld()) return { is: 'lost' }
  const { sent, request } = await send(delivery, destination, signals, delivering)
  at('delivery-sent')
  const { httpStatus: http_status, error, response, durationMs: duration_ms } = sent
  return {
    is: 'sent',
    within,
    sent,
    made: { claimed, delivery, attempt: { started_at: delivery.startedAt, duration_ms, http_status, error, response, ...request } },
  }
}

async function hold(claimed: ClaimedJob, delivery: OpenDelivery, { pool, batched }: Delivering): Promise<Outcome> {
  if (delivery.isExpired && (await expireDelivery(pool, claimed, delivery))) return { is: 'failed', why: 'expired' }
  await batched.park(claimed)
  return { is: 'suspended', why: 'held', isRetry: false }
}

async function recordSent({ made, sent }: Attempted, signals: Signals, delivering: Delivering): Promise<Outcome> {
  if (sent.outcome !== 'delivered') return fail(made, sent.outcome, sent, signals, delivering)
  const isRecorded = await signals.untilRecorded(() => delivering.batched.succeed({ ...made, claimOnInsert: signals.claimOnInsert }))
  return isRecorded ? { is: 'succeeded' } : { is: 'lost' }
}

/** The time limit covers all requests of the attempt. `request`: the fingerprint of the first, where one was made. */
async function send(
  delivery: OpenDelivery,
  destination: EventDestination,
  { lease, halt, effectBegins }: Signals,
  { settingsOf, outgoing, policy }: Delivering,
): Promise<{ sent: Sent; request: { request?: string } }> {
  const { id, occurrence } = delivery
  const settings = settingsOf(delivery)
  const noted = noting(outgoing)
  const sent = await sendWithin(policy.attemptLimitMs, [lease, halt], signal => {
    effectBegins()
    return destination.send(occurrence, { outgoing: noted.outgoing, settings, deliveryId: id, signal })
  })
  const first = noted.first()
  return { sent, request: first === null ? {} : { request: fingerprintOf(first) } }
}

async function fail(
  made: Delivered,
  outcome: Exclude<Sent['outcome'], 'delivered'>,
  { error, retryAfterSeconds }: Sent,
  { untilRecorded }: Signals,
  { pool, policy }: Delivering,
): Promise<Outcome> {
  const waitAfter = (attempts: number) => nextWait(policy, attempts, retryAfterSeconds)
  const recorded = await untilRecorded(isRepeat => recordFailure(pool, { ...made, outcome, waitAfter, isRepeat }))
  const why = error ?? 'failed'
  switch (recorded.is) {
    case 'failed':
      return { is: 'failed', why: `${recorded.why}: ${why}` }
    case 'held':
      return { is: 'suspended', why: `held: ${why}`, isRetry: true }
    case 'waits':
      return { is: 'suspended', why: `${why}, next attempt in ${Math.round(recorded.seconds)} s`, isRetry: true }
    default:
      return recorded satisfies never
  }
}
