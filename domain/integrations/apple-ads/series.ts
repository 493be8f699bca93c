import { roundedFigure } from '../../analytics/figures/charts/rounding.ts'
import type { RevenueType } from '../../analytics/figures/cohorts/question.ts'
import type { FactAccess } from '../../analytics/figures/open-source.ts'
import type { Environment } from '../../kernel/environment.ts'
import { loadEntities } from './entities.ts'
import { ratio } from './figures.ts'
import { knownDays, SPEND_PER_UNIT, spendByDay } from './read-spend.ts'
import { readTrackedDays } from './read-tracked.ts'
import { DAY, type Days, dateOf } from './windows.ts'

export type SeriesMetric =
  | 'spend'
  | 'impressions'
  | 'taps'
  | 'installs'
  | 'avg_cpa'
  | 'users'
  | 'trials'
  | 'payers'
  | 'revenue'
  | 'arpu'
  | 'roas'

export type SeriesQuestion = {
  integration: number
  now: number
  days: Days
  metric: SeriesMetric
  currency: string
  revenue: RevenueType
  countries: readonly string[] | null
  campaigns: readonly string[] | null
}

const OF_USERS: readonly SeriesMetric[] = ['users', 'trials', 'payers', 'revenue', 'arpu']
const MOST_DAYS = 366

export type Series = {
  points: { date: string; value: number | null }[]
  coverage: { from: string | null; through: string | null; days_known: number; days_total: number }
  truncated: boolean
  behind: number
}

/** The metric on each UTC day. Null where it is not known: a day that was not read, or one that lies ahead. */
export async function appleAdsSeries(access: FactAccess, environment: Environment, question: SeriesQuestion): Promise<Series> {
  const { integration, now, metric, currency, revenue, countries, campaigns } = question
  const days = { first: Math.max(question.days.first, question.days.end - MOST_DAYS), end: question.days.end }
  const isOfUsers = OF_USERS.includes(metric)
  const known = await knownDays(access.pool, integration, days)
  const spend = isOfUsers
    ? []
    : await spendByDay(access.scanning, { integration, level: 'campaigns', days, currency, countries, campaigns })
  const needsUsers = isOfUsers || metric === 'roas'
  const tracked = needsUsers ? await readTrackedDays(access, environment, { days, now, currency, revenue, countries }) : null
  const entities =
    campaigns && tracked
      ? await loadEntities(access.scanning, integration, 'campaigns', { ids: [], attributed: tracked.rows.map(({ of }) => of) })
      : null
  const counted = (tracked?.rows ?? []).filter(({ of }) => {
    if (!campaigns) return true
    const campaign = entities?.named('campaigns', of)
    return campaign !== undefined && campaigns.includes(campaign.id)
  })
  const spendOn = new Map(spend.map(row => [row.part, row]))
  const usersOn = Map.groupBy(counted, ({ day }) => day)
  const perUnit = tracked?.perUnit ?? 1n
  const today = Math.floor(now / DAY)

  function valueOn(day: number): number | null {
    if (isOfUsers ? day > today : !known.has(day)) return null
    const of = usersOn.get(day) ?? []
    const sum = (name: 'users' | 'trials' | 'payers') => of.reduce((all, row) => all + row[name], 0)
    const paid = { top: of.reduce((all, row) => all + row.revenue, 0n), bottom: perUnit }
    const apple = spendOn.get(day)
    const cost = apple?.unrated ? null : { top: apple?.spend ?? 0n, bottom: SPEND_PER_UNIT }
    switch (metric) {
      case 'spend':
        return cost && roundedFigure(cost, 2)
      case 'avg_cpa':
        return cost && ratio(cost, { top: BigInt(apple?.installs ?? 0), bottom: 1n }, 2)
      case 'impressions':
      case 'taps':
      case 'installs':
        return apple?.[metric] ?? 0
      case 'users':
      case 'trials':
      case 'payers':
        return sum(metric)
      case 'revenue':
        return roundedFigure(paid, 2)
      case 'arpu':
        return ratio(paid, { top: BigInt(sum('users')), bottom: 1n }, 2)
      case 'roas':
        return ratio(paid, cost, 4)
      default:
        return metric satisfies never
    }
  }
  const all = Array.from({ length: days.end - days.first }, (_, i) => days.first + i)
  const covered = all.filter(day => (isOfUsers ? day <= today : known.has(day)))
  return {
    points: all.map(day => ({ date: dateOf(day), value: valueOn(day) })),
    coverage: {
      from: covered.length === 0 ? null : dateOf(covered[0]!),
      through: covered.length === 0 ? null : dateOf(covered.at(-1)!),
      days_known: covered.length,
      days_total: all.length,
    },
    truncated: days.first > question.days.first,
    behind: tracked?.behind ?? 0,
  }
}
