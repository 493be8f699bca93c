import type { Labels } from './answer.ts'
import type { Attribute, Filters } from './attributes.ts'
import { bySegment, runsInside } from './cohorts.ts'
import { exact, over, shown } from './exact.ts'
import { DAY, type Instant } from './history.ts'
import { figuresOf, type Member, type Mode, membersOf, type Payment, paymentsOf, type Revenue } from './members.ts'
import type { Conversion } from './rates.ts'
import { conversionOf, isPaid, transactionsBy, type World } from './world.ts'

export type LtvQuestion = {
  cohortFrom: Instant
  cohortTo: Instant
  mode: Mode
  revenue: Revenue
  segment?: Attribute
  filters: Filters
  conversion: Conversion
}

const LAST_DAY = 365
const RENEWALS = 12

function pointsOf(world: World, question: LtvQuestion, members: Member[], cohortTo: Instant) {
  const { mode, conversion, revenue } = question
  const { now } = world.history
  if (members.length === 0) return []
  const payments = members.flatMap(member => paymentsOf(world, member, mode))
  const point = (index: number, label: string, is_complete: boolean, which: (payment: Payment) => boolean) => {
    const upTo = payments.filter(which)
    const { revenueUpTo, arpu, arppu } = figuresOf(world, conversion, revenue, members.length, [], upTo)
    return { index, label, is_complete, revenue: revenueUpTo, arpu, arppu }
  }
  if (mode === 'by_days') {
    const age = Math.floor((now - Math.min(...members.map(member => member.anchor))) / DAY)
    return Array.from({ length: Math.min(LAST_DAY, age) + 1 }, (_, day) =>
      point(
        day,
        `D${day}`,
        members.every(member => member.anchor + (day + 1) * DAY <= now),
        payment => payment.period <= day,
      ),
    )
  }
  const points = []
  let complete = cohortTo <= now
  for (let index = 1; index <= RENEWALS; index++) {
    points.push(point(index, `P${index}`, complete, payment => payment.period <= index))
    if (!payments.some(payment => payment.period === index)) break
    complete &&= !runsInside(world, members, index)
  }
  return points
}

export function ltvAnswer(world: World, question: LtvQuestion, labels: Labels = {}) {
  const cohortTo = Math.ceil(question.cohortTo / DAY) * DAY
  const members = cohortMembers(world, question)
  const paying = (group: Member[]) => group.filter(member => transactionsBy(world, member.user).some(isPaid)).length
  return {
    cohort_from: question.cohortFrom,
    cohort_to: cohortTo,
    cohort_users: members.length,
    paying_users: paying(members),
    series: pointsOf(world, question, members, cohortTo),
    segments: question.segment
      ? bySegment(world, members, question.segment, labels).map(({ code, label, members: group }) => ({
          code,
          label,
          cohort_users: group.length,
          paying_users: paying(group),
          series: pointsOf(world, question, group, cohortTo),
        }))
      : [],
  }
}

const cohortMembers = (world: World, { cohortFrom, cohortTo, filters }: LtvQuestion): Member[] =>
  membersOf(world, 'new_customers', filters).filter(
    member => cohortFrom <= member.anchor && member.anchor < Math.ceil(cohortTo / DAY) * DAY,
  )

export function trialConversionAnswer(world: World, question: LtvQuestion) {
  const users = cohortMembers(world, question).map(member => member.user)
  const trials = world.charged.filter(one => one.kind === 'trial' && users.includes(one.transaction.user))
  const converted = trials.filter(trial => conversionOf(world, trial) !== undefined)
  return {
    trials_started: trials.length,
    trials_converted: converted.length,
    conversion_rate: trials.length === 0 ? 0 : shown(over(exact(converted.length), exact(trials.length)), 4),
  }
}
