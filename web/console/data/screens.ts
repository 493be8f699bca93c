import type { OneScreenKpis, ScreenAnalyticsPeriod, ScreensOverviewKpis } from '../../../clients/typescript/src/index.ts'
import type { Measure } from '../parts/format.ts'
import type { Search } from './address.ts'
import { calendarRangeOf, unitFor } from './calendar.ts'
import { usePreferences } from './session.ts'
import { useTick } from './use-tick.ts'

/** A figure in words. `short`: as the head of a column. `good`: whether more is better. `moving`: time alone can still change it. */
export type KpiLook = { name: string; short?: string; measure: Measure; good: boolean; moving?: boolean }

/** A figure as it is shown: a fraction as percent. */
export const shownAs = (value: number, measure: Measure): number => (measure === 'percent' ? value * 100 : value)

/** The figures of all screens together, and of each as its row has them. */
export const OVERVIEW: Readonly<Record<keyof ScreensOverviewKpis, KpiLook>> = {
  impressions: { name: 'Shown', measure: 'count', good: true },
  views: { name: 'Views', measure: 'count', good: true },
  trials: { name: 'Trials', measure: 'count', good: true },
  purchases: { name: 'Purchases', measure: 'count', good: true },
  conversion: { name: 'Purchases per view', short: 'Per view', measure: 'percent', good: true },
  revenue: { name: 'Revenue', measure: 'usd', good: true },
}

/** What one screen has beside these. */
export const OF_ONE: Readonly<Record<Exclude<keyof OneScreenKpis, keyof ScreensOverviewKpis>, KpiLook>> = {
  refunds: { name: 'Refunds', measure: 'usd', good: false },
  conversion_rate: { name: 'Purchases per trial', short: 'Per trial', measure: 'percent', good: true },
  cancel_rate: { name: 'Cancelled', measure: 'percent', good: false, moving: true },
}

/** The range of the address, as a question about screens. */
export function useScreenQuestion(search: Search) {
  const { zone } = usePreferences()
  useTick()
  const range = calendarRangeOf(search, zone)
  const currency = search.currency ?? 'USD'
  return { range, zone, currency, query: { from: range.from, to: range.to, unit: unitFor(range), timezone: zone, currency } }
}

/** So many values of a sparkline are complete. */
export const completeOf = ({ starts = [], partial_from }: ScreenAnalyticsPeriod): number =>
  typeof partial_from === 'number' ? starts.length - 1 : starts.length
