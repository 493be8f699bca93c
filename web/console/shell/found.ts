import { CHARTS } from '../data/charts.ts'
import { useRead } from '../data/read.ts'
import { useSession } from '../data/session.ts'
import { plain, t } from '../parts/t.ts'
import { NAVIGATION } from './navigation.ts'
import { type Hit, recent } from './recent.ts'

/** What the palette shows for a query; `settled` is what is sent to the service. Without a query, what was opened last. */
export function useFound(query: string, settled: string): { groups: { group: string; hits: Hit[] }[]; searching: boolean } {
  const { data: session } = useSession()
  const asks = settled.length > 1
  const people = useRead('v4ListCustomers', { query: { search: settled, limit: 5 } }, { when: asks })
  const matches = (text: string) => text.toLowerCase().includes(query.toLowerCase())
  const pages = NAVIGATION.flatMap(({ entries }) => entries)
    .filter(({ text, ownerOnly }) => matches(text) && (!ownerOnly || session?.operator.is_owner))
    .map(({ to, icon, text, key }): Hit => ({ to, icon, text, more: `g ${key}` }))
  const charts = CHARTS.flatMap(({ group, charts: own }) => own.map(chart => ({ ...chart, group })))
    .filter(({ title }) => query !== '' && matches(title))
    .slice(0, 8)
    .map(({ code, title, group }): Hit => ({ to: `/charts/${code}`, icon: 'chart', text: title, more: group }))
  const found = (asks ? (people.data?.data ?? []) : []).map(
    (one): Hit => ({
      to: `/customers/${one.id}`,
      icon: 'people',
      text: one.external_identity ?? one.id,
      more: [plain(one.status ?? ''), one.client_country, one.id].filter(Boolean).join(' · '),
    }),
  )
  const groups = [
    { group: t('Recent'), hits: query === '' ? recent() : [] },
    { group: t('Pages'), hits: pages },
    { group: t('Charts'), hits: charts },
    { group: t('Customers'), hits: found },
  ]
  return { groups: groups.filter(({ hits }) => hits.length > 0), searching: asks && people.isFetching }
}
