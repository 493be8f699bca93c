import type { IntegrationProbe, ProbeRequest, ProbeResult } from '../../domain/integrations/probe.ts'
import { orderedId } from '../../store/ids.ts'
import { googleTokens } from '../outgoing/google-token.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { REPORT_SLUGS, type ReportDestination, type ReportSlug } from '../report-destinations/report-destination.ts'
import type { EventDestination, Sent } from './destination.ts'
import { makeRequest } from './made-request.ts'
import { eventDestinations } from './registry.ts'
import { sendWithin } from './send-within.ts'

export type ProbeDeps = { outgoing: Outgoing; allowPrivateNetwork: boolean; destinations?: ReadonlyMap<string, EventDestination> }

const LIMIT_MS = 10_000

const isReportSlug = (slug: string): slug is ReportSlug => REPORT_SLUGS.includes(slug as ReportSlug)

export const triedOf = ({ outcome, httpStatus, error, durationMs }: Sent): ProbeResult => ({
  ok: outcome === 'delivered',
  http_status: httpStatus,
  duration_ms: durationMs,
  error: outcome === 'delivered' ? null : (error ?? outcome),
})

/** Sends samples: an event where the provider receives events, in the same way as deliveries and each under its own id. */
export function integrationProbe({ outgoing, allowPrivateNetwork, destinations = eventDestinations }: ProbeDeps): IntegrationProbe {
  // Loaded at the first test of a report destination: the clients of file stores are large, and an API without reports never needs them.
  async function testOfReports(slug: ReportSlug): Promise<ReportDestination['test']> {
    const { reportDestinations } = await import('../report-destinations/registry.ts')
    return reportDestinations({ outgoing, guard: { allowPrivateNetwork }, tokens: googleTokens(outgoing) })[slug].test
  }

  async function send({ id, slug, settings, occurrence }: ProbeRequest, signal: AbortSignal): Promise<Sent> {
    const destination = destinations.get(slug)
    if (destination) return destination.send(occurrence, { outgoing, settings, deliveryId: orderedId('dlv'), signal })
    const test = isReportSlug(slug) ? await testOfReports(slug) : null
    if (!test) throw new Error(`nothing delivers to ${slug}`)
    return test({ integration: { id }, environment: occurrence.environment, settings, signal })
  }

  return {
    allowPrivateNetwork,
    isAvailable: slug => destinations.has(slug) || isReportSlug(slug),
    requestOf: async content => {
      const destination = destinations.get(content.slug)
      return destination ? makeRequest(destination, content) : null
    },
    tryIntegration: async sample => triedOf(await sendWithin(LIMIT_MS, [], signal => send(sample, signal))),
  }
}
