import { DELIVERY_DUE } from '../../domain/deliveries/delivery.ts'
import { loadDeliveries, type OpenDelivery } from '../../domain/deliveries/load.ts'
import { recordFailure } from '../../domain/deliveries/record-failure.ts'
import { type Delivered, recordDelivered } from '../../domain/deliveries/record-success.ts'
import { expire, parkDeliveries } from '../../domain/deliveries/suspend.ts'
import { openSettings } from '../../domain/integrations/config.ts'
import { type ClaimedJob, deleteClaimedJob } from '../../domain/jobs/job.ts'
import { LeaseLost } from '../../domain/jobs/record.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { batching } from '../../store/batching.ts'
import type { Pool } from '../../store/connect.ts'
import type { EventDestination, Sent } from '../destinations/destination.ts'
import { nothingSent } from '../destinations/nothing-sent.ts'
import { type AtCrashPoint, NOWHERE } from '../engine/crash-point.ts'
import type { JobHandler, Outcome, Signals } from '../engine/handler.ts'
import { messageOf, type RetryPolicy, waitAfter } from '../engine/policy.ts'
import type { Outgoing } from '../outgoing/request.ts'

export type DeliverDeps = {
  pool: Pool
  secrets: Secrets
  outgoing: Outgoing
  destinations: ReadonlyMap<string, EventDestination>
  policy: RetryPolicy
  at?: AtCrashPoint
}

/** Sends what is due to the integrations, and records what came of it. */
export function deliveryHandler({ pool, secrets, outgoing, destinations, policy, at = NOWHERE }: DeliverDeps): JobHandler {
  const load = batching((numbers: readonly number[]) => loadDeliveries(pool, numbers))
  const park = batching((claimed: readonly ClaimedJob[]) => parkDeliveries(pool, claimed))
  const succeed = batching((items: readonly Delivered[]) => recordDelivered(pool, items), { max: 200 })

  async function send(delivery: OpenDelivery, { lease, halt }: Signals): Promise<Sent> {
    const { config, environment, id, occurrence } = delivery
    const destination = destinations.get(config.slug)
    if (!destination) return nothingSent('retry', 'not_available')
    const settings = openSettings({ secrets, environment, integration: config.id }, config)
    // Over all that one attempt asks for.
    const limit = AbortSignal.timeout(policy.attemptLimitMs)
    const began = performance.now()
    try {
      return await destination.send(occurrence, { outgoing, settings, deliveryId: id, signal: AbortSignal.any([lease, halt, limit]) })
    } catch (error) {
      if (lease.aborted || halt.aborted) throw error
      const why = limit.aborted ? 'timeout' : `internal: ${messageOf(error)}`
      return { ...nothingSent('retry', why), durationMs: Math.round(performance.now() - began) }
    }
  }

  async function fail(claimed: ClaimedJob, delivery: OpenDelivery, sent: Sent, attempt: Delivered['attempt']): Promise<Outcome> {
    if (sent.outcome === 'delivered') throw new Error('a success is no failure')
    const recorded = await recordFailure(pool, {
      claimed,
      delivery,
      attempt,
      outcome: sent.outcome,
      waitAfter(attempts) {
        const wait = waitAfter(policy, attempts)
        return wait === null ? null : (sent.retryAfterSeconds ?? wait)
      },
    })
    const why = `${sent.error ?? 'failed'}`
    if (recorded.is === 'failed') return { is: 'failed', why: `${recorded.why}: ${why}` }
    if (recorded.is === 'held') return { is: 'suspended', why: `held: ${why}`, isRetry: true }
    return { is: 'suspended', why: `${why}, next attempt in ${Math.round(recorded.seconds)} s`, isRetry: true }
  }

  async function attempt(claimed: ClaimedJob, delivery: OpenDelivery, signals: Signals): Promise<Outcome> {
    if (signals.stopping.aborted) return { is: 'interrupted' }
    at('before-effect')
    if (signals.lease.aborted || !signals.isHeld()) return { is: 'lost' }
    const sent = await send(delivery, signals)
    at('delivery-sent')
    const { httpStatus: http_status, error, response, durationMs: duration_ms } = sent
    const tried = { started_at: delivery.startedAt, duration_ms, http_status, error, response }
    if (sent.outcome !== 'delivered') return fail(claimed, delivery, sent, tried)
    return (await succeed({ claimed, delivery, attempt: tried })) ? { is: 'succeeded' } : { is: 'lost' }
  }

  async function perform(claimed: ClaimedJob, signals: Signals): Promise<Outcome> {
    const delivery = await load(claimed.id)
    if (delivery === null) {
      await deleteClaimedJob(pool, claimed)
      return { is: 'succeeded' }
    }
    if (delivery.config.active === 1 || delivery.isProbe) return attempt(claimed, delivery, signals)
    if (delivery.isExpired && (await expire(pool, claimed, delivery))) return { is: 'failed', why: 'expired' }
    await park(claimed)
    return { is: 'suspended', why: 'held', isRetry: false }
  }

  return {
    kind: DELIVERY_DUE,
    // Each waits up to ten seconds for somebody else's server: one environment's hanging receivers leave room for three more like it.
    concurrency: 1_024,
    perEnvironment: 256,
    perDestination: 32,
    async handle(claimed, signals) {
      try {
        const outcome = await perform(claimed, signals)
        at('delivery-recorded')
        return outcome
      } catch (error) {
        if (error instanceof LeaseLost || signals.lease.aborted) return { is: 'lost' }
        if (signals.halt.aborted) return { is: 'interrupted' }
        throw error
      }
    },
  }
}
