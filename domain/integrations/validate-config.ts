import { slugOf } from '../events/catalogue.ts'
import { type Detail, invalidFields } from '../refusal.ts'
import type { Provider } from './provider.ts'
import { settingFault } from './setting.ts'

export type ConfigInput = {
  settings: Record<string, unknown>
  events: string[] | null
  event_mapping: Record<string, string>
  revenue: 'price' | 'proceeds'
}

function settingFaults(provider: Provider, settings: Record<string, unknown>, allowPrivate: boolean): Detail[] {
  const known = new Map(provider.settings.map(setting => [setting.name, setting]))
  return Object.entries(settings).flatMap(([name, value]) => {
    const setting = known.get(name)
    if (!setting) return { field: `settings.${name}`, message: `is not a setting of ${provider.title}` }
    const message = value === null ? null : settingFault(setting, value, allowPrivate)
    return message === null ? [] : { field: `settings.${name}`, message }
  })
}

const NO_EVENT = 'names no event type'

/** Throws `invalid_data` with every fault. `allowPrivate`: whether the operator lets addresses be `http`. */
export function validateConfig(provider: Provider, input: ConfigInput, allowPrivate: boolean): void {
  const faults = settingFaults(provider, input.settings, allowPrivate)
  for (const [i, type] of (input.events ?? []).entries())
    if (type !== '*' && slugOf(type) === null) faults.push({ field: `events[${i}]`, message: NO_EVENT })
  for (const type of Object.keys(input.event_mapping))
    if (slugOf(type) === null) faults.push({ field: `event_mapping.${type}`, message: NO_EVENT })
  if (faults.length > 0) throw invalidFields(faults)
}
