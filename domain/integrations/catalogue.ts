import type { Provider } from './provider.ts'
import { PROVIDERS } from './providers.ts'

const bySlug = new Map(PROVIDERS.map(provider => [provider.slug, provider]))

/** The provider of a stored integration. Throws for another slug: the API stores only slugs of the table. */
export function providerOf(slug: string): Provider {
  const provider = bySlug.get(slug)
  if (!provider) throw new Error(`no provider ${slug}`)
  return provider
}

export const takesEvents = (slug: string): boolean => providerOf(slug).takes.includes('E')

/** The categories and their providers, in the order of the table. */
export function categories(): { title: string; items: Provider[] }[] {
  const titles = [...new Set(PROVIDERS.map(({ category }) => category))]
  return titles.map(title => ({ title, items: PROVIDERS.filter(({ category }) => category === title) }))
}
