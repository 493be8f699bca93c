import { DateTime } from 'luxon'
import type { Detail } from '../../../kernel/refusal.ts'
import { invalidFields } from '../../../kernel/refusal.ts'
import { ATTRIBUTES, type Attribute, type ColumnAttribute, isColumn } from '../attributes.ts'
import type { TimeWindow } from '../buckets.ts'
import {
  currencyFaults,
  environmentFaults,
  type Filters,
  type QueryContext,
  rateDateFaults,
  readFilters,
  windowFaults,
} from '../question.ts'

const COHORT_MODES = ['by_renewals', 'by_days'] as const
export type CohortMode = (typeof COHORT_MODES)[number]

const GROUPINGS = ['day', 'week', 'month', 'quarter', 'year'] as const
export type Grouping = (typeof GROUPINGS)[number]

/** Paid periods of a subscription that are counted by renewals. */
export const LAST_RENEWAL = 12

const REVENUE_TYPES = ['gross', 'net'] as const
export type RevenueType = (typeof REVENUE_TYPES)[number]

/** The column of the facts with the time from which the days of a user count. */
export const ANCHORS = { new_customers: 'created', initial_conversions: 'first_trial_or_paid', new_paying: 'first_paid' } as const
export type CohortDefinition = keyof typeof ANCHORS
export type Anchor = (typeof ANCHORS)[CohortDefinition]

const ALL: readonly Attribute[] = ATTRIBUTES
const SEGMENTED = ['target_platform', 'product_id', 'country', 'media_source_name', 'campaign_name']
const FILTERED = [...SEGMENTED, 'app_version', 'segment_id', 'device_id', 'experiment_group_id']

/** The attributes by which cohorts and LTV can be segmented. */
export const COHORT_SEGMENTATIONS: readonly ColumnAttribute[] = ALL.filter(isColumn).filter(({ code }) => SEGMENTED.includes(code))
/** The attributes that can restrict cohorts and LTV. */
export const COHORT_FILTERS: readonly Attribute[] = ALL.filter(({ code }) => FILTERED.includes(code))

/** Parameters that cohorts and LTV have in common, as the API describes them. Filters are beside them. */
type MembersQuery = {
  cohort_from?: number | undefined
  cohort_to?: number | undefined
  mode: CohortMode
  revenue_type: RevenueType
  segment?: string | undefined
  environment?: 0 | 1 | undefined
  currency: string
  rate_date?: string | undefined
  fresh?: boolean | undefined
}
export type CohortQuery = MembersQuery & { grouping: Grouping; cohort_definition: CohortDefinition }
export type LtvQuery = MembersQuery

/** Users whose anchor lies in the range, and not after `now`, who pass the filters. */
export type RequestedMembers = {
  now: number
  anchor: Anchor
  range: TimeWindow
  filters: Filters
  segment: ColumnAttribute | null
  fresh: boolean
}
/** How money is counted. */
export type RequestedMoney = { revenue: RevenueType; currency: string; rateDate: string | null }

/** Questions in which nothing is left to check. `starts`: of the cohorts. */
export type LtvQuestion = RequestedMembers & RequestedMoney & { mode: CohortMode }
export type CohortQuestion = LtvQuestion & { grouping: Grouping; definition: CohortDefinition; starts: readonly number[] }

const DAY = 86_400
const DEFAULT_DAYS = 90
const MOST_COHORTS = 400

const startOf = (at: number, grouping: Grouping) => DateTime.fromSeconds(at, { zone: 'utc' }).startOf(grouping)
/** The last second of the year 9999, the latest that a question may name. */
const LATEST = 253_402_300_799
const upToMidnight = (at: number): number => Math.min(LATEST, Math.ceil(at / DAY) * DAY)

/** The cohorts of the range, which begins with one; more than the limit are not computed. */
function startsOf({ from, to }: TimeWindow, grouping: Grouping): number[] {
  const first = startOf(from, grouping)
  const starts: number[] = []
  for (let n = 0; starts.length <= MOST_COHORTS; n++) {
    const start = first.plus({ [grouping]: n }).toSeconds()
    if (start >= to) break
    starts.push(start)
  }
  return starts
}

const requestedRange = ({ cohort_from, cohort_to }: MembersQuery, now: number): TimeWindow => ({
  from: cohort_from ?? Math.max(0, now - DEFAULT_DAYS * DAY),
  to: cohort_to ?? now,
})

type Context = QueryContext & { own: 0 | 1 }

function readMembers(query: MembersQuery, { now, hasRate, own }: Context) {
  const range = requestedRange(query, now)
  const { filters, faults: filterFaults } = readFilters(query, COHORT_FILTERS)
  const segment = COHORT_SEGMENTATIONS.find(({ code }) => code === query.segment) ?? null
  const rateDate = query.rate_date ?? null
  const faults: Detail[] = [
    ...environmentFaults(query.environment, own),
    ...windowFaults(range, 'cohort_to', 'cohort_from'),
    ...currencyFaults(hasRate),
    ...rateDateFaults(rateDate),
    ...filterFaults,
  ]
  if (query.segment !== undefined && segment === null) faults.push({ field: 'segment', message: `must be one of ${SEGMENTED.join(', ')}` })
  const { mode, revenue_type: revenue, currency } = query
  return { range, faults, requested: { now, mode, revenue, currency, rateDate, filters, segment, fresh: query.fresh ?? false } }
}

/** The question of a query about cohorts. Throws `invalid_data` with every fault. */
export function readCohortQuestion(query: CohortQuery, context: Context): CohortQuestion {
  const { grouping, cohort_definition: definition } = query
  const { range: given, faults, requested } = readMembers(query, context)
  const range = { from: startOf(given.from, grouping).toSeconds(), to: upToMidnight(given.to) }
  const starts = startsOf(range, grouping)
  if (starts.length > MOST_COHORTS)
    faults.push({ field: 'grouping', message: `gives more than ${MOST_COHORTS} cohorts: choose a longer one or a shorter range` })
  if (faults.length > 0) throw invalidFields(faults)
  return { ...requested, range, grouping, definition, anchor: ANCHORS[definition], starts }
}

/** The question of a query about LTV: users created in the range, whose beginning is used as given. Throws `invalid_data` with every fault. */
export function readLtvQuestion(query: LtvQuery, context: Context): LtvQuestion {
  const { range, faults, requested } = readMembers(query, context)
  if (faults.length > 0) throw invalidFields(faults)
  return { ...requested, range: { from: range.from, to: upToMidnight(range.to) }, anchor: ANCHORS.new_customers }
}
