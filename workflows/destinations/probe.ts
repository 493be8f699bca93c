import type { IntegrationProbe, Sample, Tried } from '../../domain/integrations/probe.ts'
import { orderedId } from '../../store/ids.ts'
import { googleTokens } from '../outgoing/google-token.ts'
import type { Outgoing } from '../outgoing/request.ts'
import { reportDestinations } from '../report-destinations/registry.ts'
import type { ReportDestination } from '../report-destinations/report-destination.ts'
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
  // Those that take no events are tried by these.
  const reports: Readonly<Record<string, ReportDestination>> = reportDestinations({
    outgoing,
    guard: { allowPrivateNetwork },
    tokens: googleTokens(outgoing),
  })
  const trial = (slug: string): ((sample: Sample, signal: AbortSignal) => Promise<Sent>) | null => {
    const destination = destinations.get(slug)
    if (destination)
      return ({ occurrence, settings }, signal) =>
        destination.send(occurrence, { outgoing, settings, deliveryId: orderedId('dlv'), signal })
    const test = Object.hasOwn(reports, slug) ? reports[slug]!.test : null
    if (!test) return null
    return ({ occurrence: { environment }, settings }, signal) =>
      test({ integration: { id: orderedId('test') }, environment, settings, signal })
  }
  return {
    allowPrivateNetwork,
    isAvailable: slug => trial(slug) !== null,
    async tryIntegration(sample) {
      const attempt = trial(sample.slug)
      if (!attempt) throw new Error(`nothing delivers to ${sample.slug}`)
      const signal = AbortSignal.timeout(LIMIT_MS)
      const began = performance.now()
      try {
        return told(await attempt(sample, signal))
      } catch (error) {
        const why = signal.aborted ? 'timeout' : `internal: ${error instanceof Error ? error.message : String(error)}`
        return { ok: false, http_status: null, duration_ms: Math.round(performance.now() - began), error: why.slice(0, 1000) }
      }
    },
  }
}
