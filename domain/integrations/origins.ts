import { type Detail, invalidFields } from '../kernel/refusal.ts'
import type { IntegrationConfig } from './config.ts'
import { providerOf } from './providers.ts'

/**
 * The origins to which the settings (opened) send. Of addresses that are a choice, an unset one is no address; any other unset address
 * stands for the vendor's own.
 */
function originsOf(slug: string, settings: Record<string, unknown>): Set<string> {
  const { settings: known } = providerOf(slug)
  const textOf = (name: string) => String(settings[name] ?? '').toLowerCase()
  const host = known.filter(({ isHost }) => isHost).map(({ name }) => textOf(name))
  const addresses = known.filter(({ kind, name, choice }) => kind === 'url' && !(choice && settings[name] === undefined))
  const origins = addresses.map(({ name, choice }) => {
    const given = settings[name]
    return JSON.stringify([choice ?? name, typeof given === 'string' ? new URL(given).origin : null])
  })
  return new Set([JSON.stringify(host), ...origins])
}

/**
 * Whether the change sends to an origin that the configuration did not send to before. Throws `invalid_data` when such a change leaves a
 * stored secret as it is: a caller who may change an address but never saw the secret could have it sent to a server of their own.
 */
export function movesOrigin(
  { slug, secrets }: Pick<IntegrationConfig, 'slug' | 'secrets'>,
  given: Record<string, unknown>,
  { before, after }: Record<'before' | 'after', Record<string, unknown>>,
): boolean {
  const known = originsOf(slug, before)
  if ([...originsOf(slug, after)].every(origin => known.has(origin))) return false
  const faults: Detail[] = providerOf(slug)
    .settings.filter(({ name }) => name in secrets && given[name] === undefined)
    .map(({ name }) => ({
      field: `settings.${name}`,
      message: 'must be given again (or be null), because the settings name another address',
    }))
  if (faults.length > 0) throw invalidFields(faults)
  return true
}
