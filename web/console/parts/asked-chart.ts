import type { ScheduledReport } from '../../../clients/typescript/src/index.ts'
import { filtersOf, joined, type Search } from '../data/address.ts'
import { plain, t } from './t.ts'

/** A chart with its settings, as a report keeps it. */
export type AskedChart = ScheduledReport['charts'][number]

const filterName = (name: string) => /^filter\[(.+)\]\[\]$/.exec(name)?.[1]

/** Its settings as the names and values of an address. */
export function searchOfChart({ query = {} }: Pick<AskedChart, 'query'>): Search {
  const search: Search = {}
  for (const [name, value] of Object.entries(query)) {
    const filter = filterName(name)
    if (filter !== undefined) search[`f.${filter}`] = joined(Array.isArray(value) ? value : [String(value)])
    else if (name === 'segmentation') search.split = String(value)
    else if (name === 'currency' || name === 'unit') search[name] = String(value)
  }
  return search
}

/** The chart of an address of *Schedule*: its code, what it is divided by, its currency and filters. */
export const chartOfSearch = (search: Search): AskedChart | undefined =>
  search.chart === undefined
    ? undefined
    : {
        code: search.chart,
        query: {
          ...(search.split && { segmentation: search.split }),
          ...(search.currency && { currency: search.currency }),
          ...filtersOf(search),
        },
      }

/** Its filters by attribute. */
export const filtersOfChart = ({ query = {} }: Pick<AskedChart, 'query'>): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => {
      const filter = filterName(name)
      return filter === undefined ? [] : [[filter, [value].flat().map(String)]]
    }),
  )

/** Its filters in words. */
export const filterTexts = (chart: Pick<AskedChart, 'query'>): string[] =>
  Object.entries(filtersOfChart(chart)).map(([name, values]) => t('{name}: {values}', { name: plain(name), values: values.join(', ') }))
