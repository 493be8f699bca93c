import pg from 'pg'
import type { Environment } from '../../../kernel/environment.ts'
import { attributeOf, isColumn, UNKNOWN } from '../attributes.ts'
import { isOfActiveUsers } from '../charts/distinct.ts'
import { MEASURES, type ScanCode, TERMS } from '../charts/measure.ts'
import type { FactAccess } from '../open-source.ts'
import { type UserSet, userSetsOf } from '../user-sets.ts'
import { coefficientsOf, type RequestedNumber, type SegmentValues } from './number.ts'
import { type Restrict, type ViewScan, type ViewTerms, viewScan } from './view-scans.ts'

/** A value as SQL that means the same as a parameter. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`
  return pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value))
}

/** The text with its parameters in place. */
const inlined = (sql: string, parameters: readonly unknown[]): string =>
  sql.replace(/\$(\d+)/g, (_, number: string) => literal(parameters[Number(number) - 1]))

/** A row has one of the values; `isRest`: none of them. */
function hasValue(column: string, values: readonly string[], isRest: boolean): string {
  if (values.length === 0) return String(isRest)
  const listed = `${column} ${isRest ? 'not in' : 'in'} (${values.map(literal).join(', ')})`
  if (values.includes(UNKNOWN) === isRest) return listed
  return `(${column} is null or ${listed})`
}

const inSets = (user: string, sets: readonly UserSet[]): string[] =>
  sets.map(({ statements }) =>
    statements.length === 0 ? 'false' : `${user} in (${statements.map(({ sql, parameters }) => inlined(sql, parameters)).join(' union ')})`,
  )

function restrictions({ question }: RequestedNumber, segment: SegmentValues | null, sets: readonly UserSet[]): Restrict {
  const columnFilters = [...question.filters].filter(([code]) => isColumn(attributeOf(code)!))
  const all = [...columnFilters.map(([code, values]) => ({ code, values, isRest: false })), ...(segment ? [segment] : [])]
  return (user, column) => [
    ...all.flatMap(({ code, values, isRest }) => {
      const name = column(code)
      return name === null ? [] : [hasValue(name, values, isRest)]
    }),
    ...inSets(user, sets),
  ]
}

const selected = (expression: string, { from, where }: Pick<ViewScan, 'from' | 'where'>): string =>
  `(select ${expression}\n from ${from}${where.length === 0 ? '' : `\n where ${where.join('\n   and ')}`})`

/** The sum of the terms of all scans that have a coefficient. */
function sumOf(terms: ViewTerms, scans: readonly ScanCode[], coefficients: readonly number[]): string {
  let first = 0
  const sums = scans.flatMap(code => {
    const own = coefficients.slice(first, first + TERMS[code].length)
    first += TERMS[code].length
    if (own.every(coefficient => coefficient === 0)) return []
    const scan = viewScan(code, terms)
    const parts = own.flatMap((coefficient, i) => {
      if (coefficient === 0) return []
      return coefficient === 1 ? scan.terms[i]! : `${coefficient} * ${scan.terms[i]}`
    })
    return selected(`coalesce(sum(${parts.join(' + ')}), 0)`, scan)
  })
  return sums.join('\n + ')
}

/** How many users there are. */
function usersOf(which: 'payers' | 'active users', { environment, restrict, from, end }: ViewTerms): string {
  if (which === 'payers')
    return selected('count(distinct t.user_no)', {
      from: 'perennial_transactions t',
      where: [
        `t.environment = ${environment}`,
        ...[`t.happened >= ${from}`, `t.happened < ${end}`, `t.kind in ('start', 'conversion', 'renewal', 'one_time')`],
        ...restrict('t.user_no', code => `t.${code}`),
      ],
    })
  return selected('count(distinct a.user_no)', {
    from: 'perennial_active_days a\n join perennial_users u on u.environment = a.environment and u.user_no = a.user_no',
    where: [
      `a.environment = ${environment}`,
      ...[`a.active_at >= to_timestamp(${from})`, `a.active_at < to_timestamp(${end})`],
      ...restrict('a.user_no', code => (isOfActiveUsers({ code }) ? `u.${code}` : null)),
    ],
  })
}

/** A third of an amount has no last decimal: without the first rounding, three of them would round as a little less than the whole. */
const MONTHLY_PLACES = 12
/** Before everything that can happen. */
const NEVER = 0

/**
 * The number as a statement on the views of facts (`perennial_…`), rounded as in the answer. It runs as it stands. `now`: the last second whose facts
 * count.
 */
export async function statementOnViews(
  { scanning, proceedsRates }: FactAccess,
  environment: Environment,
  requested: RequestedNumber,
  { segment, now }: { segment: SegmentValues | null; now: number },
): Promise<string> {
  const { chart, question, window } = requested
  const { scans, denominator } = MEASURES[chart.code]
  const sets = await userSetsOf(scanning, environment, question.filters)
  const terms: ViewTerms = {
    ...{ environment, now, proceedsRates, currency: question.currency, rateDate: question.rateDate },
    // The state at the end of a window that has not begun is that of no bucket.
    ...{ from: window.from, end: window.from > now ? NEVER : Math.min(window.to, now + 1) },
    restrict: restrictions(requested, segment, sets),
  }
  const places = chart.measure === 'count' ? 0 : 2
  const numerator = sumOf(terms, scans, coefficientsOf(requested))
  const isMonthly = scans.some(code => code === 'monthly' || code === 'movement')
  if (denominator === undefined)
    return `select round(${isMonthly ? `round(${numerator}\n / 336.0, ${MONTHLY_PLACES})` : numerator}, ${places}) as value`
  const below = typeof denominator === 'string' ? usersOf(denominator, terms) : sumOf(terms, scans, denominator)
  const scaled = chart.measure === 'percent' ? `100.0 * ${numerator}` : numerator
  return `select coalesce(round(${scaled}\n / nullif(${below}, 0), ${places}), 0) as value`
}
