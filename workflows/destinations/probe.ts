import type { IntegrationProbe, Tried } from '../../domain/integrations/probe.ts'
import { orderedId } from '../../store/ids.ts'
import type { Outgoing } from '../outgoing/request.ts'
import type { EventDestination, Sent } from './destination.ts'

export type ProbeDeps = {
  outgoing: Outgoing
  allowPrivateNetwork: boolean
  destinations: ReadonlyMap<string, EventDestination>
}

const LIMIT_MS = 10_000

const told = ({ outcome, httpStatus, error, durationMs }: Sent): Tried => ({
  ok: outcome === 'delivered',
  http_status: httpStatus,
  duration_ms: durationMs,
  error: outcome === 'delivered' ? null : (error ?? outcome),
})

/** Sends samples the way deliveries go, each under an id of its own. */
export function integrationProbe({ outgoing, allowPrivateNetwork, destinations }: ProbeDeps): IntegrationProbe {
  return {
    allowPrivateNetwork,
    isAvailable: slug => destinations.has(slug),
    async tryIntegration({ slug, settings, occurrence }) {
      const destination = destinations.get(slug)
      if (!destination) throw new Error(`nothing delivers to ${slug}`)
      const signal = AbortSignal.timeout(LIMIT_MS)
      const began = performance.now()
      try {
        return told(await destination.send(occurrence, { outgoing, settings, deliveryId: orderedId('dlv'), signal }))
      } catch (error) {
        const why = signal.aborted ? 'timeout' : `internal: ${error instanceof Error ? error.message : String(error)}`
        return { ok: false, http_status: null, duration_ms: Math.round(performance.now() - began), error: why.slice(0, 1000) }
      }
    },
  }
}
