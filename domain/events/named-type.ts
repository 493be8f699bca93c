import { CATALOGUE, eventType } from './catalogue.ts'

const SLUGS = new Map(CATALOGUE.map(type => [type.uid, type.slug]))
const CUSTOM = /^(?=.*[a-z])[a-z0-9][a-z0-9_.-]{0,99}$/

/** The slug that is meant where an event type is named by uid of the catalogue, slug of the catalogue or custom slug; null: none is. */
export function slugNamed(text: string): string | null {
  const slug = SLUGS.get(text)
  if (slug !== undefined) return slug
  return eventType(text) !== undefined || CUSTOM.test(text) ? text : null
}
