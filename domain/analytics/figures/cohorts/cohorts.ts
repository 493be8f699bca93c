import { DateTime } from 'luxon'
import type { Environment } from '../../../kernel/environment.ts'
import { COHORT_DAYS } from '../../facts/anchors.ts'
import type { LeftOutMoney } from '../charts/unconverted.ts'
import type { FactAccess } from '../open-source.ts'
import { addPayments, type GroupByCohort, type MemberGroup, NO_PAYMENTS } from './group.ts'
import type { Ages, Payments } from './payments.ts'
import { type CohortMode, type CohortQuestion, type Grouping, LAST_RENEWAL } from './question.ts'
import { readMemberFacts } from './read.ts'
import { shownMoney } from './shown.ts'

const DAY = 86_400

const COHORT_METRICS = ['subscriptions', 'payers', 'revenue', 'arpu', 'arppu', 'arpas'] as const
export type CohortMetric = (typeof COHORT_METRICS)[number]

/** `subscriptions`, `payers` and `revenue` of the period alone, the averages of all periods up to it. */
type CohortFigures = Record<CohortMetric, number>
/**
 * `reachable`: how many had the time to reach the period: by days users, by renewals the subscriptions that began; `open`: the others of them, who
 * may still reach it.
 */
export type CohortCell = CohortFigures & { index: number; label: string; is_complete: boolean; reachable: number; open: number }
export type CohortRow = { label: string; from: number; to: number; users: number; periods: CohortCell[] }
/** `reachable`: of the cohorts alone in which everybody had the time to reach the period. */
export type CohortTotalCell = Omit<CohortCell, 'reachable'> & { reachable: CohortFigures & { cohorts: number; users: number } }
export type CohortTotal = { label: string; users: number; periods: CohortTotalCell[] }
export type CohortTriangle = { cohorts: CohortRow[]; total: CohortTotal | null; max_values: Record<CohortMetric, number> }

export type Cohorts = CohortTriangle & {
  segments: (CohortTriangle & { code: string; label: string })[] | null
  period_labels: string[]
  unconverted: LeftOutMoney[]
  asOf: number
  behind: number
}

export const renewalLabel = (period: number): string => `P${period}`

const periodLabels = (mode: CohortMode): string[] =>
  mode === 'by_days' ? COHORT_DAYS.map(day => `D${day}`) : Array.from({ length: LAST_RENEWAL }, (_, i) => renewalLabel(i + 1))

/** Each period begins after the last day of the one before. */
export const AGES: Ages = {
  grid: { starts: [0, ...COHORT_DAYS.slice(0, -1).map(day => (day + 1) * DAY)], end: (COHORT_DAYS.at(-1)! + 1) * DAY },
  first: 1,
}

const LABEL_FORMATS: Record<Grouping, string> = {
  day: 'yyyy-MM-dd',
  week: 'yyyy-MM-dd',
  month: 'yyyy-MM',
  quarter: "yyyy-'Q'q",
  year: 'yyyy',
}

const cohortLabel = (start: number, grouping: Grouping): string =>
  DateTime.fromSeconds(start, { zone: 'utc' }).toFormat(LABEL_FORMATS[grouping])

type Row = { group: MemberGroup; from: number; to: number }
type CellQuestion = Pick<CohortQuestion, 'mode' | 'now'> & { perUnit: bigint }

/** Whether no day of the period has begun for any user: the row ends before it. */
const isAhead = (index: number, { from }: Row, { mode, now }: CellQuestion): boolean =>
  mode === 'by_days' && from + ((COHORT_DAYS[index - 2] ?? -1) + 1) * DAY >= now

/**
 * How many may still reach the period: by days the users whose last day of it is not over, by renewals the subscriptions that are still inside of
 * an earlier period (`inside`).
 */
function openOf(index: number, { users, over }: MemberGroup, { mode }: CellQuestion, inside: number): number {
  if (mode === 'by_renewals') return inside
  return [...over].reduce((open, [periods, count]) => (periods >= index ? open - count : open), users)
}

const isOver = ({ to }: Row, { mode, now }: CellQuestion, open: number): boolean => open === 0 && (mode === 'by_days' || to <= now)

/** Of whom the cells of a row are a part: by days its users, by renewals the subscriptions that began. */
const everyOf = ({ users, periods }: MemberGroup, { mode }: CellQuestion): number =>
  mode === 'by_days' ? users : (periods.get(1)?.subscriptions ?? 0)

/** Of some users: what they paid in a period, and until its end. */
type Reached = { users: number; inside: Payments; upTo: Payments }

const shownFigures = ({ users, inside, upTo }: Reached, perUnit: bigint): CohortFigures => ({
  subscriptions: inside.subscriptions,
  payers: inside.payers,
  revenue: shownMoney(inside.revenue, perUnit),
  arpu: shownMoney(upTo.revenue, perUnit, users),
  arppu: shownMoney(upTo.revenue, perUnit, upTo.firstPayers),
  arpas: shownMoney(upTo.recurring, perUnit, upTo.firstPaid),
})

/**
 * By period: the cohorts in which the period is over for all users, together. A cohort that ended early, because no user paid, is among
 * them: without its users the average would be that of survivors.
 */
function reachableOf(rows: readonly Row[], requested: CellQuestion): CohortTotalCell['reachable'][] {
  const sums = periodLabels(requested.mode).map(() => ({ cohorts: 0, users: 0, inside: NO_PAYMENTS, upTo: NO_PAYMENTS }))
  for (const row of rows) {
    let upTo = NO_PAYMENTS
    for (const [i, sum] of sums.entries()) {
      const open = openOf(i + 1, row.group, requested, upTo.open)
      const inside = row.group.periods.get(i + 1) ?? NO_PAYMENTS
      upTo = addPayments(upTo, inside)
      if (!isOver(row, requested, open)) break
      sum.cohorts += 1
      sum.users += row.group.users
      sum.inside = addPayments(sum.inside, inside)
      sum.upTo = addPayments(sum.upTo, upTo)
    }
  }
  return sums.map(sum => ({ cohorts: sum.cohorts, users: sum.users, ...shownFigures(sum, requested.perUnit) }))
}

function cellsOf(row: Row, requested: CellQuestion): CohortCell[] {
  const { mode, perUnit } = requested
  const cells: CohortCell[] = []
  let upTo = NO_PAYMENTS
  for (const [i, label] of periodLabels(mode).entries()) {
    const index = i + 1
    if (isAhead(index, row, requested)) break
    const open = openOf(index, row.group, requested, upTo.open)
    const inside = row.group.periods.get(index) ?? NO_PAYMENTS
    upTo = addPayments(upTo, inside)
    cells.push({
      index,
      label,
      is_complete: isOver(row, requested, open),
      reachable: everyOf(row.group, requested) - open,
      open,
      ...shownFigures({ users: row.group.users, inside, upTo }, perUnit),
    })
    if (mode === 'by_renewals' && inside.payers === 0) break
  }
  return cells
}

function triangleOf(
  { whole, cohorts }: GroupByCohort,
  { starts, range, grouping, ...question }: CohortQuestion,
  perUnit: bigint,
): CohortTriangle {
  const requested = { ...question, perUnit }
  const groups = [...cohorts].map(([cohort, group]): Row => ({ group, from: starts[cohort]!, to: starts[cohort + 1] ?? range.to }))
  const rows = groups.map((row): CohortRow => {
    const { group, from, to } = row
    return { label: cohortLabel(from, grouping), from, to, users: group.users, periods: cellsOf(row, requested) }
  })
  const cells = rows.flatMap(({ periods }) => periods)
  const largest = (metric: CohortMetric) => cells.reduce((most, cell) => Math.max(most, cell[metric]), 0)
  const reachable = reachableOf(groups, requested)
  const total = whole &&
    rows[0] && {
      ...{ label: 'Total', users: whole.users },
      periods: cellsOf({ group: whole, from: rows[0].from, to: range.to }, requested).map((cell, i) => ({
        ...cell,
        reachable: reachable[i]!,
      })),
    }
  return {
    cohorts: rows,
    total: total ?? null,
    max_values: Object.fromEntries(COHORT_METRICS.map(metric => [metric, largest(metric)])) as Record<CohortMetric, number>,
  }
}

/** Retention and revenue of the users by the time of their anchor. */
export async function computeCohorts(access: FactAccess, environment: Environment, question: CohortQuestion): Promise<Cohorts> {
  const { all, segments, unconverted, perUnit, asOf, behind } = await readMemberFacts(access, environment, question, {
    starts: question.starts,
    ages: AGES,
    ends: COHORT_DAYS.map(day => (day + 1) * DAY),
  })
  return {
    ...triangleOf(all, question, perUnit),
    segments: segments?.map(({ code, label, group }) => ({ code, label, ...triangleOf(group, question, perUnit) })) ?? null,
    period_labels: periodLabels(question.mode),
    unconverted,
    asOf,
    behind,
  }
}
