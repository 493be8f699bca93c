import { STATE_COLUMNS } from '../charts/change-states.ts'
import { activeUsers, payers } from '../charts/distinct.ts'
import { MEASURES, type ScanCode, TERMS } from '../charts/measure.ts'
import { IS_SAME_PRICE, movementAtOnce } from '../charts/movement.ts'
import { scanOf } from '../charts/scan.ts'
import { counts, type ScanContext, termOfRow } from '../charts/scan-rows.ts'
import { coefficientsOf, type RequestedNumber } from './number.ts'

/** The role of a fact in a number: it is a part of its sum, or of one of the two sums of a quotient. */
export type FactRole = 'value' | 'numerator' | 'denominator'

/** By number: 1 to 7 are those of transactions. */
export const KINDS = ['trial', 'start', 'conversion', 'renewal', 'one_time', 'refund', 'credit', 'change', 'user', 'active_user'] as const
const [CHANGE, USER, ACTIVE_USER] = [8, 9, 10]

/** By number: 1 to 6 are those of changes. A change may also move a subscription into the filters or out of them, or only to another day's rate. */
export const CAUSES = ['begin', 'handover', 'auto_renew', 'grace', 'retry', 'end', 'entering', 'leaving', 'exchange_rate'] as const
const [ENTERING, LEAVING, EXCHANGE_RATE] = [7, 8, 9]

const COLUMNS = {
  id: 'bigint',
  user_no: 'bigint',
  kind: 'smallint',
  cause: 'smallint',
  product: 'int',
  platform: 'int',
  country: 'int',
  currency: 'int',
  amount: 'bigint',
  bought_on: 'int',
  recorded: 'bigint',
  purchase: 'bigint',
  event: 'text',
} as const
export type FactColumn = keyof typeof COLUMNS
type Columns = Partial<Record<FactColumn, string>> & { id: string; user_no: string; kind: string }

/** Where the ids of rows come from. */
export type FactTable = 'transaction_facts' | 'subscription_changes' | 'user_facts'

/**
 * Rows of facts with one role, as SQL of Postgres. `contribution`: a whole number, in the measure's unit (`unitOf`); a row with 0 has no part in
 * the number. An id occurs once.
 */
export type FactRows = {
  role: FactRole
  table: FactTable
  from: string
  where: string[]
  happened: string
  contribution: string
  columns: Columns
}

const allOf = (row: string, names: readonly FactColumn[]): Partial<Record<FactColumn, string>> =>
  Object.fromEntries(names.map(name => [name, `${row}.${name}`]))

const OF_TRANSACTIONS: Columns = {
  ...{ id: 't.id', user_no: 't.user_no', kind: 't.kind' },
  ...allOf('t', ['product', 'platform', 'country', 'currency', 'amount', 'bought_on', 'recorded', 'purchase', 'event']),
}

/** An end has the attributes of the period that ended, and no amount. */
const OF_ENDS: Columns = {
  ...{ id: 'c.id', user_no: 'c.user_no', kind: String(CHANGE), cause: 'c.cause', recorded: 'c.recorded', bought_on: 'c.a_bought_on' },
  ...{ product: 'c.a_product', platform: 'c.a_platform', country: 'c.a_country', currency: 'c.a_currency' },
}

const OF_STATES: Columns = {
  ...{ id: 's.id', user_no: 's.user_no', kind: String(CHANGE) },
  ...allOf('s', ['cause', 'product', 'platform', 'country', 'currency', 'amount', 'bought_on', 'recorded']),
}

const OF_USERS: Columns = {
  ...{ id: 'u.user_no', user_no: 'u.user_no', kind: String(USER), recorded: 'u.created' },
  ...allOf('u', ['platform', 'country']),
}

/** Of the state after the change, unless only the one before is inside of the filters. */
const ofState = (name: string) => `case when m.a_amount is not null then m.a_${name} else m.b_${name} end`
const IN_BOTH = 'm.a_amount is not null and m.b_amount is not null'
const OF_MOVEMENTS: Columns = {
  ...{ id: 'm.id', user_no: 'm.user_no', kind: String(CHANGE), recorded: 'm.recorded' },
  cause: `case when m.b_amount is null and m.b_any is not null then ${ENTERING} when m.a_amount is null and m.a_any is not null then ${LEAVING}
    when ${IN_BOTH} and ${IS_SAME_PRICE} and m.a_bought_on is distinct from m.b_bought_on then ${EXCHANGE_RATE} else m.cause end`,
  ...Object.fromEntries(['product', 'platform', 'country', 'currency', 'amount', 'bought_on'].map(name => [name, ofState(name)])),
}
const MORE_OF_CHANGES = [
  ...['id', 'user_no', 'cause', 'recorded', 'a_platform', 'b_platform', 'a_country', 'b_country'].map(name => `c.${name}`),
  'c.a_amount as a_any',
  'c.b_amount as b_any',
]

/** The last change of each subscription before a time, with its state after: what `statesSql` adds up to. */
function lastChangesSql({ source, now }: ScanContext, before: number): string {
  const { changes } = source.dialect.tables
  const until = (row: string) => `${row}.happened < ${before} and ${counts(row, now)}`
  return `(select a.id, a.user_no, a.subscription, a.happened, a.counts_from, a.cause, a.recorded, a.media, a.campaign, 1 as sign,
      ${STATE_COLUMNS.map(name => `a.a_${name} as ${name}`).join(', ')}
    from ${changes} a where a.a_state in (1, 2, 3) and ${until('a')} and not exists (
      select from ${changes} n where n.user_no = a.user_no and n.subscription = a.subscription and n.happened > a.happened and ${until('n')}))`
}

/** The rows that a scan reads, with their columns, not added up. */
function rowsOf(code: ScanCode, context: ScanContext, end: number) {
  switch (code) {
    case 'movement':
      return { table: 'subscription_changes', scan: movementAtOnce(context, MORE_OF_CHANGES), columns: OF_MOVEMENTS } as const
    case 'monthly':
    case 'standing in paid or grace':
    case 'standing in trial':
      return {
        table: 'subscription_changes',
        scan: scanOf(code, { ...context, states: lastChangesSql(context, end) }),
        columns: OF_STATES,
      } as const
    case 'ended':
      return { table: 'subscription_changes', scan: scanOf(code, context), columns: OF_ENDS } as const
    case 'created':
      return { table: 'user_facts', scan: scanOf(code, context), columns: OF_USERS } as const
    default:
      return { table: 'transaction_facts', scan: scanOf(code, context), columns: OF_TRANSACTIONS } as const
  }
}

const within = (time: string, from: number, end: number): string[] => [`${time} >= ${from}`, `${time} < ${end}`]

type Times = { from: number; end: number; isStock: boolean }

function scanned(context: ScanContext, code: ScanCode, coefficients: readonly number[], { from, end, isStock }: Times) {
  const { table, scan, columns } = rowsOf(code, context, end)
  const parts = coefficients.flatMap((coefficient, i) => (coefficient === 0 ? [] : `${coefficient} * (${termOfRow(scan, scan.terms[i]!)})`))
  const times = isStock ? [`${scan.happened} < ${end}`] : within(scan.happened, from, end)
  return { table, from: scan.from, where: [...scan.where, ...times], happened: scan.happened, contribution: parts.join(' + '), columns }
}

/** Coefficients stand one after the other for the terms of the scans. */
function ofScans(
  context: ScanContext,
  scans: readonly ScanCode[],
  coefficients: readonly number[],
  times: Times,
  role: FactRole,
): FactRows[] {
  let first = 0
  return scans.flatMap(code => {
    const own = coefficients.slice(first, first + TERMS[code].length)
    first += TERMS[code].length
    return own.every(coefficient => coefficient === 0) ? [] : { role, ...scanned(context, code, own, times) }
  })
}

/** Each user once: with the last transaction in the time, or with the last time of activity. */
async function countedOnce(context: ScanContext, which: 'payers' | 'active users', from: number, end: number): Promise<FactRows> {
  const role = 'denominator'
  if (which === 'payers') {
    const own = payers(context)
    const later = payers(context, 'n')
    const isLater = '(n.happened > t.happened or n.happened = t.happened and n.id > t.id)'
    const none = `not exists (select from ${later.from} where n.user_no = t.user_no and ${isLater} and ${[...later.where, ...within('n.happened', from, end)].join(' and ')})`
    const where = [...own.where, ...within('t.happened', from, end), none]
    return { role, table: 'transaction_facts', from: own.from, where, happened: 't.happened', contribution: '1', columns: OF_TRANSACTIONS }
  }
  const { from: rows, where, user, happened } = await activeUsers(context, { starts: [from], end })
  const last = `(select ${user} as user_no, max(${happened}) as happened from ${rows}
    where ${[...where, ...within(happened, from, end)].join(' and ')} group by ${user}) a join ${context.source.dialect.tables.users} u on u.user_no = a.user_no`
  const columns = { ...OF_USERS, kind: String(ACTIVE_USER), recorded: 'a.happened' }
  return { role, table: 'user_facts', from: last, where: [], happened: 'a.happened', contribution: '1', columns }
}

/** The facts that a number is computed from. `context`: restricted to the facts of the number. */
export async function factRows(context: ScanContext, requested: RequestedNumber): Promise<FactRows[]> {
  const { chart, window } = requested
  // A chart shows no bucket that has not begun.
  if (window.from > context.now) return []
  const { scans, denominator } = MEASURES[chart.code]
  const times = { from: window.from, end: Math.min(window.to, context.now + 1), isStock: chart.kind === 'stock' }
  const own = ofScans(context, scans, coefficientsOf(requested), times, chart.kind === 'ratio' ? 'numerator' : 'value')
  if (denominator === undefined) return own
  if (typeof denominator === 'string') return [...own, await countedOnce(context, denominator, times.from, times.end)]
  return [...own, ...ofScans(context, scans, denominator, times, 'denominator')]
}

/** One row for each fact with a part in the number: (part, happened, contribution) and the columns. `part`: the index of its rows. */
export function factRowsSql(all: readonly FactRows[]): string[] {
  return all.map(({ from, where, happened, contribution, columns }, part) => {
    const values = Object.entries(COLUMNS).map(([name, type]) => `(${columns[name as FactColumn] ?? 'null'})::${type} as ${name}`)
    const inner = `select ${part} as part, ${happened} as happened, (${contribution})::numeric as contribution, ${values.join(', ')}
      from ${from}${where.length === 0 ? '' : ` where ${where.join(' and ')}`}`
    return `select * from (${inner}) f where f.contribution <> 0`
  })
}
