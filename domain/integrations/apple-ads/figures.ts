import { type Quotient, roundedFigure } from '../../analytics/figures/charts/rounding.ts'
import { SPEND_PER_UNIT, type SpendRow } from './read-spend.ts'
import { ageEdges, closingEdges, type Days, dateOf, type ReportWindow, type WindowCode } from './windows.ts'

const MONEY_PLACES = 2
const RATIO_PLACES = 4

export type WindowFigures = {
  is_closed: boolean
  closed_from: string | null
  closed_through: string | null
  spend: number | null
  spend_closed: number | null
  payers: number
  revenue: number
  roas: number | null
  cac: number | null
}
export type AdsFigures = {
  tracked: { users: number; trials: number; paying_users: number; revenue: number; arpu: number | null; arppu: number | null }
  apple: { spend: number | null; impressions: number; taps: number; installs: number; avg_cpa: number | null } | null
  roas: number | null
  windows: Partial<Record<WindowCode, WindowFigures>>
}

/** What is common to all rows of a report. `firstRead`: the first day of the range that was read; null: none was. */
export type AdsFrame = { windows: readonly ReportWindow[]; days: Days; perUnit: bigint; firstRead: number | null }

/** AdsSums before they are rounded. By parts of the days of creation: `spend`, `payers` by window; `revenue` by part and age. */
export type AdsSums = {
  users: number
  trials: number
  paying: number
  revenue: bigint[][]
  payers: number[][]
  spend: bigint[]
  unrated: boolean
  impressions: number
  taps: number
  installs: number
}

export function emptySums({ windows }: AdsFrame): AdsSums {
  const parts = closingEdges(windows).length + 1
  const ages = ageEdges(windows).length + 1
  return {
    users: 0,
    trials: 0,
    paying: 0,
    revenue: Array.from({ length: parts }, () => Array.from({ length: ages }, () => 0n)),
    payers: Array.from({ length: parts }, () => windows.map(() => 0)),
    spend: Array.from({ length: parts }, () => 0n),
    unrated: false,
    impressions: 0,
    taps: 0,
    installs: 0,
  }
}

export function addSpend(sums: AdsSums, row: SpendRow): void {
  sums.spend[row.part]! += row.spend
  sums.unrated ||= row.unrated
  sums.impressions += row.impressions
  sums.taps += row.taps
  sums.installs += row.installs
}

export function addSums(to: AdsSums, from: AdsSums): void {
  for (const name of ['users', 'trials', 'paying', 'impressions', 'taps', 'installs'] as const) to[name] += from[name]
  to.unrated ||= from.unrated
  for (const [part, spend] of from.spend.entries()) to.spend[part]! += spend
  for (const [part, ages] of from.revenue.entries()) for (const [age, revenue] of ages.entries()) to.revenue[part]![age]! += revenue
  for (const [part, counts] of from.payers.entries()) for (const [i, payers] of counts.entries()) to.payers[part]![i]! += payers
}

const total = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n)
const money = (value: Quotient): number => roundedFigure(value, MONEY_PLACES)
/** a ÷ b; null where b is 0 or unknown. */
export function ratio(a: Quotient, b: Quotient | null, places: number): number | null {
  if (b === null || b.top === 0n) return null
  return roundedFigure({ top: a.top * b.bottom, bottom: a.bottom * b.top }, places)
}
const counted = (count: number): Quotient => ({ top: BigInt(count), bottom: 1n })

/** The sum of the spend; null: unknown. */
export const spendOf = ({ spend, unrated }: AdsSums, hasDays: boolean): bigint | null => (unrated || !hasDays ? null : total(spend))

/** `hasApple`: false for users of no known entity, who have no spend. */
export function figuresOf(sums: AdsSums, frame: AdsFrame, hasApple = true): AdsFigures {
  const { perUnit, windows } = frame
  const hasDays = hasApple && frame.firstRead !== null
  const known = spendOf(sums, hasDays)
  const spend = known === null ? null : { top: known, bottom: SPEND_PER_UNIT }
  const revenue = { top: total(sums.revenue.flat()), bottom: perUnit }
  const { users, trials, paying, impressions, taps, installs } = sums
  return {
    tracked: {
      users,
      trials,
      paying_users: paying,
      revenue: money(revenue),
      arpu: ratio(revenue, counted(users), MONEY_PLACES),
      arppu: ratio(revenue, counted(paying), MONEY_PLACES),
    },
    apple: hasDays
      ? { spend: spend && money(spend), impressions, taps, installs, avg_cpa: spend && ratio(spend, counted(installs), MONEY_PLACES) }
      : null,
    roas: ratio(revenue, spend, RATIO_PLACES),
    windows: Object.fromEntries(windows.map((window, i) => [window.code, windowFigures(sums, frame, window, i, spend)])),
  }
}

function windowFigures(
  sums: AdsSums,
  { windows, days, perUnit, firstRead }: AdsFrame,
  window: ReportWindow,
  index: number,
  spend: Quotient | null,
): WindowFigures {
  const edges = closingEdges(windows)
  const last = Math.min(days.end - 1, window.closedThrough)
  const hasClosed = last >= days.first
  // Rows in a part up to the edge's own index lie before the edge.
  const parts = window.days === null ? edges.length + 1 : edges.indexOf(window.closedThrough) + 1
  const ages =
    window.days === null ? Number.POSITIVE_INFINITY : ageEdges(windows).filter(edge => edge <= (window.days! + 1) * 86_400 - 1).length
  const revenue = { top: total(sums.revenue.slice(0, parts).flatMap(of => of.slice(0, ages))), bottom: perUnit }
  const payers = sums.payers.slice(0, parts).reduce((sum, of) => sum + of[index]!, 0)
  const isRead = hasClosed && firstRead !== null && firstRead <= last
  const closed = spend === null || !isRead ? null : { top: total(sums.spend.slice(0, parts)), bottom: SPEND_PER_UNIT }
  return {
    is_closed: window.days !== null && window.closedThrough >= days.end - 1,
    closed_from: hasClosed ? dateOf(days.first) : null,
    closed_through: hasClosed ? dateOf(last) : null,
    spend: spend && money(spend),
    spend_closed: closed && money(closed),
    payers,
    revenue: money(revenue),
    roas: ratio(revenue, closed, RATIO_PLACES),
    cac: closed && ratio(closed, counted(payers), MONEY_PLACES),
  }
}
