import type { SearchResult } from '../../../clients/typescript/src/index.ts'
import { CHARTS } from '../data/charts.ts'
import { type Place, usePlace } from '../data/place.ts'
import { useRead } from '../data/read.ts'
import { useSession } from '../data/session.ts'
import type { IconName } from '../parts/icon.tsx'
import { t } from '../parts/t.ts'
import { NAVIGATION } from './navigation.ts'
import { type Hit, recent } from './recent.ts'

export type Group = { group: string; hits: Hit[] }

/** Where a thing is shown. What has no page yet is not among the hits. */
const PAGES: Partial<
  Record<SearchResult['kind'], { group: string; icon: IconName; target: (id: string, url: string) => Pick<Hit, 'to' | 'search'> }>
> = {
  customer: { group: 'Customers', icon: 'people', target: id => ({ to: `/customers/${id}` }) },
  automation: { group: 'Automations', icon: 'flow', target: id => ({ to: `/automations/${id}` }) },
  automation_run: { group: 'Runs', icon: 'runs', target: id => ({ to: `/runs/${id}` }) },
  event: { group: 'Events', icon: 'bolt', target: id => ({ to: '/events', search: { at: id } }) },
  scheduled_report: { group: 'Reports', icon: 'mail', target: id => ({ to: `/reports/${id}` }) },
  report_run: { group: 'Reports', icon: 'mail', target: (id, url) => ({ to: `/reports/${url.split('/')[3]}`, search: { at: id } }) },
  export: { group: 'Exports', icon: 'file', target: id => ({ to: '/exports', search: { at: id } }) },
  integration: { group: 'Integrations', icon: 'plug', target: id => ({ to: `/integrations/${id}` }) },
  // The integration stands in the address of the delivery.
  delivery: { group: 'Deliveries', icon: 'mail', target: (id, url) => ({ to: `/integrations/${url.split('/')[3]}`, search: { at: id } }) },
}

/** What the palette shows for a query; `settled` is what is sent to the service. Without a query, what was opened last. */
export function useFound(query: string, settled: string): { groups: Group[]; searching: boolean; failed: boolean } {
  const place = usePlace()
  const { data: session } = useSession()
  const asks = settled.length > 1
  const search = useRead('v4Search', { query: { q: settled } }, { when: asks })
  const pages = pagesWith(query, session?.operator.is_owner === true)
  const found = query.length > 1 && asks ? thingsIn(search.data?.data ?? []) : []
  const groups = query === '' ? [recentAt(place), pages] : [pages, chartsWith(query), ...found]
  const searching = query.length > 1 && (search.isFetching || query !== settled)
  return { groups: groups.filter(({ hits }) => hits.length > 0), searching, failed: search.isError }
}

const has = (text: string, query: string) => text.toLowerCase().includes(query.toLowerCase())

const recentAt = (place: Place | undefined): Group => ({ group: t('Recent'), hits: recent(place) })

const pagesWith = (query: string, isOwner: boolean): Group => ({
  group: t('Pages'),
  hits: NAVIGATION.flatMap(({ entries }) => entries)
    .filter(({ text, ownerOnly }) => has(text, query) && (!ownerOnly || isOwner))
    .map(({ to, icon, text, key }) => ({ to, icon, text, more: `g ${key}` })),
})

const chartsWith = (query: string): Group => ({
  group: t('Charts'),
  hits: CHARTS.flatMap(({ group, charts }) =>
    charts.map(({ code, title }) => ({ to: `/charts/${code}`, icon: 'chart' as const, text: title, more: group })),
  )
    .filter(({ text }) => has(text, query))
    .slice(0, 8),
})

/** The things of a search in the groups of their kinds, in the order in which the service gives them. */
function thingsIn(results: readonly SearchResult[]): Group[] {
  const groups = new Map<string, Hit[]>()
  for (const { kind, id, url, title, subtitle } of results) {
    const page = PAGES[kind]
    if (page === undefined) continue
    const hits = groups.get(page.group) ?? []
    groups.set(page.group, [
      ...hits,
      { ...page.target(id, url), icon: page.icon, text: title, more: [subtitle, id].filter(Boolean).join(' · ') },
    ])
  }
  return [...groups].map(([group, hits]) => ({ group: t(group), hits }))
}
