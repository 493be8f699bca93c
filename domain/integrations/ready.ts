import { Refusal } from '../refusal.ts'
import { providerOf } from './catalogue.ts'
import type { IntegrationProbe, Sample } from './probe.ts'

/** Names of the required settings that are unset; of a choice all of them. */
function missingSettings(slug: string, settings: Record<string, unknown>): string[] {
  const has = (name: string) => Object.hasOwn(settings, name)
  const { settings: known } = providerOf(slug)
  const made = new Set(known.flatMap(({ name, choice }) => (choice && has(name) ? [choice] : [])))
  return known.filter(({ name, required, choice }) => required && !has(name) && !(choice && made.has(choice))).map(({ name }) => name)
}

/** Throws `integration_not_configured` or `integration_not_available` when nothing can be sent with these settings. */
export function assertUsable(probe: IntegrationProbe, slug: string, settings: Record<string, unknown>): void {
  const missing = missingSettings(slug, settings)
  if (missing.length > 0) throw new Refusal('integration_not_configured', `these settings are missing: ${missing.join(', ')}`)
  if (!probe.isAvailable(slug))
    throw new Refusal('integration_not_available', `this installation cannot deliver to ${providerOf(slug).title} yet`)
}

/** What a webhook's receiver must have answered before events go there: the others say so at the first delivery. */
export const mustAnswer = (slug: string): boolean => slug === 'webhooks'

/** Throws `integration_test_failed` unless the receiver answers with 200. */
export async function assertAnswers(probe: IntegrationProbe, sample: Sample): Promise<void> {
  const { http_status, error } = await probe.tryIntegration(sample)
  if (http_status === 200) return
  const why = http_status === null ? (error ?? 'no answer') : `status ${http_status}`
  throw new Refusal('integration_test_failed', `the address must answer a test event with 200 within 10 seconds: ${why}`)
}
