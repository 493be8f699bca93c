import { DateTime } from 'luxon'
import { type Labels, labelOf } from './answer.ts'
import type { Attribute, Filters } from './attributes.ts'
import { DAY, type Instant } from './history.ts'
import {
  type Definition,
  figuresOf,
  firstRunsOf,
  type Member,
  type Mode,
  membersOf,
  paidPeriods,
  paymentsOf,
  type Revenue,
  valueOfMember,
} from './members.ts'
import type { Conversion } from './rates.ts'
import type { World } from './world.ts'

export type Grouping = 'day' | 'week' | 'month' | 'quarter' | 'year'
export type CohortQuestion = {
  cohortFrom: Instant
  cohortTo: Instant
  mode: Mode
  grouping: Grouping
  definition: Definition
  revenue: Revenue
  segment?: Attribute
  filters: Filters
  conversion: Conversion
}

const MARKS = [0, 1, 3, 7, 14, 30, 60, 90, 120, 180, 270, 365, 540, 730]
const RENEWALS = 12
const METRICS = ['arpas', 'arppu', 'arpu', 'payers', 'revenue', 'subscriptions'] as const

const utc = (at: Instant): DateTime => DateTime.fromSeconds(at, { zone: 'utc' }) as DateTime
const upToMidnight = (at: Instant): Instant => Math.ceil(at / DAY) * DAY

function labelled(from: Instant, grouping: Grouping): string {
  const format = { day: 'yyyy-MM-dd', week: 'yyyy-MM-dd', month: 'yyyy-MM', quarter: "yyyy-'Q'q", year: 'yyyy' }
  return utc(from).toFormat(format[grouping])
}

function cohortsIn(from: Instant, to: Instant, grouping: Grouping): { from: Instant; to: Instant }[] {
  const cohorts = []
  for (let start = from; start < to; ) {
    const next = utc(start)
      .plus({ [`${grouping}s`]: 1 })
      .toSeconds()
    cohorts.push({ from: start, to: Math.min(next, to) })
    start = next
  }
  return cohorts
}

export const runsInside = (world: World, members: Member[], paid: number): boolean =>
  members
    .flatMap(member => firstRunsOf(world, member.user))
    .some(run => {
      const period = paidPeriods(run)[paid - 1]
      const { now } = world.history
      return period !== undefined && period.begin <= now && (now < period.end || (period.retry !== null && now < period.retry.until))
    })

function isComplete(world: World, mode: Mode, members: Member[], to: Instant, index: number): boolean {
  const { now } = world.history
  if (mode === 'by_days') return members.every(member => member.anchor + (MARKS[index - 1]! + 1) * DAY <= now)
  return to <= now && Array.from({ length: index - 1 }, (_, i) => i + 1).every(paid => !runsInside(world, members, paid))
}

/** Who had the time to reach the period, and who may still: by days users, by renewals subscriptions. */
function timeToReach(world: World, mode: Mode, members: Member[], index: number): { reachable: number; open: number } {
  const { now } = world.history
  if (mode === 'by_days') {
    const reachable = members.filter(member => member.anchor + (MARKS[index - 1]! + 1) * DAY <= now).length
    return { reachable, open: members.length - reachable }
  }
  const begun = members.flatMap(member => firstRunsOf(world, member.user)).filter(run => paidPeriods(run)[0]!.begin <= now)
  const isInside = (run: (typeof begun)[number]) =>
    paidPeriods(run)
      .slice(0, index - 1)
      .some(period => period.begin <= now && (now < period.end || (period.retry !== null && now < period.retry.until)))
  const open = begun.filter(isInside).length
  return { reachable: begun.length - open, open }
}

function periodLabels(mode: Mode): string[] {
  return mode === 'by_days' ? MARKS.map(mark => `D${mark}`) : Array.from({ length: RENEWALS }, (_, i) => `P${i + 1}`)
}

function periodsOf(world: World, question: CohortQuestion, members: Member[], from: Instant, to: Instant) {
  const { mode, conversion, revenue } = question
  const payments = members.flatMap(member => paymentsOf(world, member, mode))
  const indexOf = (period: number) => (mode === 'by_days' ? MARKS.findIndex(mark => period <= mark) + 1 : period)
  const periods = []
  for (const [i, label] of periodLabels(mode).entries()) {
    const index = i + 1
    if (mode === 'by_days' && from + ((MARKS[i - 1] ?? -1) + 1) * DAY >= world.history.now) break
    const inside = payments.filter(one => indexOf(one.period) === index)
    const upTo = payments.filter(one => indexOf(one.period) > 0 && indexOf(one.period) <= index)
    const { revenueUpTo: _, ...figures } = figuresOf(world, conversion, revenue, members.length, inside, upTo)
    const time = timeToReach(world, mode, members, index)
    periods.push({ index, label, is_complete: isComplete(world, mode, members, to, index), ...time, ...figures })
    if (mode === 'by_renewals' && inside.length === 0) break
  }
  return periods
}

type Row = { label: string; from?: Instant; to?: Instant; users: number; periods: ReturnType<typeof periodsOf> }

/** The users of the cohorts for whom the period is over, and what they paid in it and until its end. */
function reachable(world: World, question: CohortQuestion, cohorts: (Row & { members: Member[] })[], index: number) {
  const { mode, conversion, revenue } = question
  const reached = cohorts.filter(({ members, to }) => isComplete(world, mode, members, to!, index))
  const members = reached.flatMap(row => row.members)
  const payments = members
    .flatMap(member => paymentsOf(world, member, mode))
    .map(one => ({ ...one, period: mode === 'by_days' ? MARKS.findIndex(mark => one.period <= mark) + 1 : one.period }))
  const inside = payments.filter(one => one.period === index)
  const upTo = payments.filter(one => one.period > 0 && one.period <= index)
  const { revenueUpTo: _, ...figures } = figuresOf(world, conversion, revenue, members.length, inside, upTo)
  return { cohorts: reached.length, users: members.length, ...figures }
}

function triangle(world: World, question: CohortQuestion, members: Member[], range: { from: Instant; to: Instant }) {
  const withMembers = cohortsIn(range.from, range.to, question.grouping).flatMap(({ from, to }) => {
    const inside = members.filter(member => from <= member.anchor && member.anchor < to)
    if (inside.length === 0) return []
    return [
      {
        ...{ label: labelled(from, question.grouping), from, to, users: inside.length },
        periods: periodsOf(world, question, inside, from, to),
        members: inside,
      },
    ]
  })
  const cohorts = withMembers.map(({ members: _, ...row }): Row => row)
  const total = cohorts[0]
    ? {
        ...{ label: 'Total', users: members.length },
        periods: periodsOf(world, question, members, cohorts[0].from!, range.to).map(cell => ({
          ...cell,
          reachable: reachable(world, question, withMembers, cell.index),
        })),
      }
    : null
  const cells = cohorts.flatMap(row => row.periods)
  const max_values = Object.fromEntries(METRICS.map(metric => [metric, Math.max(0, ...cells.map(cell => cell[metric]))]))
  return { cohorts, total, max_values }
}

/** The 50 values with most users, then the rest. */
export function bySegment(world: World, members: Member[], attribute: Attribute, labels: Labels) {
  const groups = [...Map.groupBy(members, member => valueOfMember(world, member, attribute))]
    .map(([code, group]) => ({ code, label: labelOf(labels, attribute, code), members: group }))
    .sort((a, b) => b.members.length - a.members.length || (a.label < b.label ? -1 : 1))
  const rest = groups.slice(50).flatMap(group => group.members)
  return [...groups.slice(0, 50), ...(rest.length > 0 ? [{ code: 'other', label: 'Other', members: rest }] : [])]
}

export function cohortsAnswer(world: World, question: CohortQuestion, labels: Labels = {}) {
  const range = { from: utc(question.cohortFrom).startOf(question.grouping).toSeconds(), to: upToMidnight(question.cohortTo) }
  const members = membersOf(world, question.definition, question.filters).filter(
    member => range.from <= member.anchor && member.anchor < range.to,
  )
  return {
    cohort_from: range.from,
    cohort_to: range.to,
    period_labels: periodLabels(question.mode),
    ...triangle(world, question, members, range),
    ...(question.segment && {
      segments: bySegment(world, members, question.segment, labels).map(({ code, label, members: group }) => ({
        code,
        label,
        ...triangle(world, question, group, range),
      })),
    }),
  }
}
