import type { RunOccurrence } from './trigger.ts'

const PLACEHOLDER = /\{\{([a-z_]+(?:\.[^{}]+)?)\}\}/g
const own = <T>(values: Record<string, T>, key: string): T | '' => (Object.hasOwn(values, key) ? values[key]! : '')

function filling(name: string, { event, user }: RunOccurrence): string {
  if (name === 'user.id') return user?.id ?? ''
  if (name === 'user.identity_id') return user?.identity_id ?? ''
  if (name === 'event.name') return event.event_name
  if (name === 'event.product_id') return event.product_id ?? ''
  if (name.startsWith('property.')) return own(user?.properties ?? {}, name.slice('property.'.length))
  if (name.startsWith('event.property.')) return String(own(event.properties, name.slice('event.property.'.length)))
  return ''
}

/**
 * The text with `{{user.id}}`, `{{user.identity_id}}`, `{{property.KEY}}`, `{{event.name}}`, `{{event.product_id}}` and
 * `{{event.property.KEY}}` filled in. A placeholder without value and an unknown one become empty. Braces of any other form stay. Placeholders
 * in a value are not filled in.
 */
export const fillIn = (text: string, occurrence: RunOccurrence): string =>
  text.replace(PLACEHOLDER, (_, name: string) => filling(name, occurrence))
