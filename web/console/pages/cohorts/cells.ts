import type {
  AnalyticsCohort,
  AnalyticsCohortPeriod,
  AnalyticsCohorts,
  AnalyticsCohortTotalPeriod,
} from '../../../../clients/typescript/src/index.ts'
import { figure } from '../../parts/format.ts'

export type Metric = 'share' | 'subscriptions' | 'payers' | 'revenue' | 'arpu' | 'arppu' | 'arpas'

export const METRIC_TEXTS: Record<Metric, string> = {
  share: 'Share still paying',
  subscriptions: 'Subscriptions',
  payers: 'Paying users',
  revenue: 'Revenue',
  arpu: 'Per user',
  arppu: 'Per paying user',
  arpas: 'Per subscription',
}

export const METRICS_OF_MONEY: ReadonlySet<Metric> = new Set(['revenue', 'arpu', 'arppu', 'arpas'])

/** A figure of a row and a period. `undefined`: nobody had the time to get there. */
export type Cell = {
  index: number
  label: string
  value: number | undefined
  /** How many may still reach it. */
  open: number
  /** Time alone changes it: hatched. */
  moving: boolean
}

export type Row = {
  key: string
  label: string
  users: number
  /** Start of the cohort; of a total undefined. */
  from: number | undefined
  /** The value of the split, of whose cohorts together this is the total. */
  segment: string | undefined
  isTotal: boolean
  cells: Cell[]
}

/** Time alone changes it by much: it is the latest one, or as many may still come as had the time. */
const isMoving = (open: number, reachable: number, isComplete: boolean, isLast: boolean) => !isComplete && (isLast || open >= reachable)

/** Nobody is there yet, and some may still come: a zero would be taken for an end. */
const isReached = ({ reachable, open, payers, subscriptions }: AnalyticsCohortPeriod) =>
  reachable > 0 && (open === 0 || payers > 0 || subscriptions > 0)

function cellsOf(periods: readonly AnalyticsCohortPeriod[], metric: Metric): Cell[] {
  const last = periods.findLast(isReached)
  return periods.map(period => {
    const { index, label, open, reachable, is_complete } = period
    const value = metric === 'share' ? (period.subscriptions / reachable) * 100 : period[metric]
    return {
      index,
      label,
      open,
      value: isReached(period) ? value : undefined,
      moving: isMoving(open, reachable, is_complete, period === last),
    }
  })
}

/** Of a total: what only the cohorts that had the time make, where there are such. */
function totalCellsOf(
  total: { periods: readonly AnalyticsCohortTotalPeriod[] },
  cohorts: readonly AnalyticsCohort[],
  metric: Metric,
): Cell[] {
  return total.periods.map((period, at) => {
    const { index, label, open, is_complete, reachable } = period
    if (metric === 'share') return { index, label, open, value: shareOf(cohorts, at), moving: false }
    if (reachable.cohorts > 0) return { index, label, open, value: reachable[metric], moving: false }
    return { index, label, open, value: period[metric], moving: !is_complete }
  })
}

/** Over the cohorts of which the period is not about to change: others lost some already and still wait for those who stayed. */
function shareOf(cohorts: readonly AnalyticsCohort[], at: number): number | undefined {
  let came = 0
  let could = 0
  for (const { periods } of cohorts) {
    const cell = cellsOf(periods, 'share')[at]
    if (cell?.value === undefined || cell.moving) continue
    came += periods[at]!.subscriptions
    could += periods[at]!.reachable
  }
  return could === 0 ? undefined : (came / could) * 100
}

/** The rows: the total, then the latest cohort; or, of a split, a total for each value. */
export function rowsOf(answer: AnalyticsCohorts, metric: Metric, split: string | undefined, value: string | undefined): Row[] {
  const shown = value === undefined ? answer : (answer.segments?.find(({ code }) => code === value) ?? { cohorts: [], total: null })
  const total: Row[] = shown.total
    ? [
        {
          key: 'total',
          label: shown.total.label,
          users: shown.total.users,
          from: undefined,
          segment: value,
          isTotal: true,
          cells: totalCellsOf(shown.total, shown.cohorts, metric),
        },
      ]
    : []
  if (split !== undefined && value === undefined)
    return [
      ...total,
      ...(answer.segments ?? []).flatMap(({ code, label, total: own, cohorts }) =>
        own
          ? [
              {
                key: `=${code}`,
                label,
                users: own.users,
                from: undefined,
                segment: code,
                isTotal: false,
                cells: totalCellsOf(own, cohorts, metric),
              },
            ]
          : [],
      ),
    ]
  return [
    ...total,
    ...shown.cohorts
      .filter(({ users }) => users > 0)
      .map(({ label, users, from, periods }) => ({
        key: String(from),
        label,
        users,
        from,
        segment: value,
        isTotal: false,
        cells: cellsOf(periods, metric),
      })),
  ]
}

const STEPS = 5

/** One of five steps of a hue; 0 for nothing. */
export const stepOf = (value: number, most: number): number =>
  value <= 0 || most <= 0 ? 0 : Math.min(STEPS, 1 + Math.floor((value / most) * (STEPS - 0.01)))

export function textOf(value: number, metric: Metric, currency: string): string {
  if (metric === 'share') return `${Math.round(value)}\u00a0%`
  return METRICS_OF_MONEY.has(metric) ? figure(value, 'usd', currency, true) : figure(value)
}
