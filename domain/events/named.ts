import { CATALOGUE, eventType } from './catalogue.ts'

const byUid = new Map(CATALOGUE.map(type => [type.uid, type.slug]))
const CUSTOM = /^(?=.*[a-z])[a-z0-9][a-z0-9_.-]{0,99}$/

/** The slug of an event type that is named by uid, slug or custom slug; null when it names none. */
export function slugOf(named: string): string | null {
  const slug = byUid.get(named) ?? named
  return eventType(slug) || CUSTOM.test(slug) ? slug : null
}

/** Outside the catalogue. */
export const isCustom = (slug: string): boolean => eventType(slug) === undefined
