import type { Environment } from '../../../kernel/environment.ts'
import type { LeftOutMoney } from '../charts/unconverted.ts'
import type { FactAccess } from '../open-source.ts'
import { renewalLabel } from './cohorts.ts'
import { addPayments, type MemberGroup, NO_PAYMENTS } from './group.ts'
import type { Ages, Payments } from './payments.ts'
import { LAST_RENEWAL, type LtvQuestion } from './question.ts'
import { readMemberFacts } from './read.ts'
import { shownMoney } from './shown.ts'

const DAY = 86_400
const LAST_DAY = 365
const AGES: Ages = { grid: { starts: Array.from({ length: LAST_DAY + 1 }, (_, day) => day * DAY), end: (LAST_DAY + 1) * DAY }, first: 0 }

/** All of it up to the period. */
export type LtvPoint = { index: number; label: string; is_complete: boolean; revenue: number; arpu: number; arppu: number }
export type LtvSeries = { cohort_users: number; paying_users: number; series: LtvPoint[] }
export type Ltv = LtvSeries & {
  segments: (LtvSeries & { code: string; label: string })[]
  unconverted: LeftOutMoney[]
  asOf: number
  behind: number
}

type Point = { index: number; label: string; is_complete: boolean; upTo: Payments }

/** Every day until the age of the oldest member. */
function byDays({ periods, firstAnchor, lastAnchor }: MemberGroup, { now }: LtvQuestion): Point[] {
  const last = Math.min(LAST_DAY, Math.floor((now - firstAnchor) / DAY))
  let upTo = NO_PAYMENTS
  return Array.from({ length: last + 1 }, (_, day) => {
    upTo = addPayments(upTo, periods.get(day) ?? NO_PAYMENTS)
    return { index: day, label: `D${day}`, is_complete: lastAnchor + (day + 1) * DAY <= now, upTo }
  })
}

/** Until the first period that nobody has paid. */
function byRenewals({ periods }: MemberGroup, { now, range }: LtvQuestion): Point[] {
  const points: Point[] = []
  let upTo = NO_PAYMENTS
  for (let index = 1; index <= LAST_RENEWAL; index++) {
    const inside = periods.get(index) ?? NO_PAYMENTS
    const isComplete = range.to <= now && upTo.open === 0
    upTo = addPayments(upTo, inside)
    points.push({ index, label: renewalLabel(index), is_complete: isComplete, upTo })
    if (inside.payers === 0) break
  }
  return points
}

function seriesOf(group: MemberGroup | null, question: LtvQuestion, perUnit: bigint): LtvSeries {
  if (group === null) return { cohort_users: 0, paying_users: 0, series: [] }
  const points = question.mode === 'by_days' ? byDays(group, question) : byRenewals(group, question)
  return {
    cohort_users: group.users,
    paying_users: group.paying,
    series: points.map(({ upTo, ...point }) => ({
      ...point,
      revenue: shownMoney(upTo.revenue, perUnit),
      arpu: shownMoney(upTo.revenue, perUnit, group.users),
      arppu: shownMoney(upTo.revenue, perUnit, upTo.firstPayers),
    })),
  }
}

/** The payments of the users of one cohort, by day or by renewal. */
export async function computeLtv(access: FactAccess, environment: Environment, question: LtvQuestion): Promise<Ltv> {
  const { all, segments, unconverted, perUnit, asOf, behind } = await readMemberFacts(access, environment, question, {
    starts: [question.range.from],
    ages: AGES,
    ends: [],
  })
  return {
    ...seriesOf(all.whole, question, perUnit),
    segments: segments?.map(({ code, label, group }) => ({ code, label, ...seriesOf(group.whole, question, perUnit) })) ?? [],
    unconverted,
    asOf,
    behind,
  }
}
