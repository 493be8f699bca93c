import type { Environment } from '../../../kernel/environment.ts'
import { COHORT_DAYS } from '../../facts/anchors.ts'
import type { Quotient } from '../charts/rounding.ts'
import { isKnownFact } from '../drill-down/page.ts'
import { loadExchange } from '../factors.ts'
import { type FactAccess, withFacts } from '../open-source.ts'
import { loadProductVocabulary, type ProductVocabulary } from '../product-vocabulary.ts'
import type { FactSource, FigureRow, FigureStatement } from '../source.ts'
import type { RequestedCell } from './cell.ts'
import { AGES } from './cohorts.ts'
import { findMembers, type Members, memberRows } from './members.ts'
import { paidMoney } from './money.ts'
import { CREDIT, paid } from './payments.ts'

/**
 * A person, or one of the subscriptions of a person, that a figure of a cell counts. `id`: its position in the list. `anchor`, `firstPaid`, `lastPaid`:
 * Unix seconds. `paid`: null where the figure is about no period. `product`, `platform`: of the latest payment, of a subscription alone.
 */
export type CohortPerson = {
  id: string
  user: string | null
  anchor: number
  paid: { payments: number; revenue: Quotient; first: number; last: number } | null
  product: string | null
  platform: string | null
}

type Position = { anchor: bigint; user: bigint; subscription: bigint }

const ID = /^(-?\d{1,12})\.(\d{1,18})\.(\d{1,18})$/

/** Null: the text is no position. */
function positionOf(text: string): Position | null {
  const found = ID.exec(text)
  return found && { anchor: BigInt(found[1]!), user: BigInt(found[2]!), subscription: BigInt(found[3]!) }
}

/** SQL on grouped rows `x`: they come after the position. */
const beyond = (position: Position | null): string =>
  position === null ? '' : `where (x.anchor, x.user_no, x.subscription) < (${position.anchor}, ${position.user}, ${position.subscription})`

const ordered = (rows: string, position: Position | null, limit: number): string =>
  `select x.* from (${rows}) x ${beyond(position)} order by x.anchor desc, x.user_no desc, x.subscription desc limit ${limit}`

/** The members of the cell's cohort and segment. Null: no such segment. */
function membersIn(members: Members, { cohort, segment }: RequestedCell): { members: Members; segment: number | null } | null {
  const inside = { ...members, range: cohort, starts: [cohort.from] }
  if (segment === null) return { members: inside, segment: null }
  const index = members.segments!.findIndex(({ code }) => code === segment)
  return index < 0 ? null : { members: inside, segment: index }
}

const DAY = 86_400

/** SQL on a payment `t`: it lies in the period. */
function isIn(period: number, { mode }: RequestedCell['question']): string {
  if (mode === 'by_renewals') return `t.renewal = ${period}`
  const before = COHORT_DAYS[period - 2]
  return `t.age >= ${before === undefined ? 0 : (before + 1) * DAY} and t.age < ${(COHORT_DAYS[period - 1]! + 1) * DAY}`
}

type Found = { statement: FigureStatement; revenueOf: (row: FigureRow) => Quotient | null }

function usersIn(source: FactSource, { members, segment }: NonNullable<ReturnType<typeof membersIn>>): Found {
  const rows = `select m.user_no, m.anchor, 0 as subscription from (${memberRows(source, members)}) m
    ${segment === null ? '' : `where m.segment = ${segment}`}`
  return { statement: { text: rows, relations: members.relations }, revenueOf: () => null }
}

/** Credits belong to the revenue of the period, and make nobody a payer. */
async function payersIn(
  access: FactAccess,
  source: FactSource,
  { members, segment }: NonNullable<ReturnType<typeof membersIn>>,
  { question, metric, period }: Extract<RequestedCell, { period: number }>,
): Promise<Found> {
  const exchange = await loadExchange(access.pool, source, question)
  const money = await paidMoney(source, exchange, access.proceedsRates, question)
  const requested = { members, mode: question.mode, ages: AGES, money, exchange }
  const { text, relations } = paid(source, requested, { key: '0', cohort: key => key })
  const isOfSubscriptions = metric === 'subscriptions'
  const isPayment = `t.kind <> ${CREDIT}`
  const where = [isIn(period, question), ...(segment === null ? [] : [`t.segment = ${segment}`])]
  if (isOfSubscriptions) where.push('t.subscription is not null')
  const latest = (column: string) =>
    `(array_agg(t.${column} order by t.happened desc, t.id desc) filter (where ${isPayment}))[1] as ${column}`
  const columns = [
    't.user_no',
    `max(t.${question.anchor}) as anchor`,
    `${isOfSubscriptions ? 't.subscription' : '0'} as subscription`,
    `count(*) filter (where ${isPayment}) as payments`,
    `min(t.happened) filter (where ${isPayment}) as first`,
    `max(t.happened) filter (where ${isPayment}) as last`,
    ...(isOfSubscriptions ? [latest('product'), latest('platform')] : []),
    ...money.parts.map(({ sql }, i) => `sum(${sql}) as p${i}`),
  ]
  return {
    statement: {
      text: `select ${columns.join(', ')} ${text} where ${where.join(' and ')}
        group by t.user_no${isOfSubscriptions ? ', t.subscription' : ''} having count(*) filter (where ${isPayment}) > 0`,
      relations,
    },
    revenueOf: row => ({
      top: money.parts.reduce((sum, { weight }, i) => sum + weight * ((row[`p${i}`] as bigint | null) ?? 0n), 0n),
      bottom: money.perUnit,
    }),
  }
}

async function named(
  source: FactSource,
  products: ProductVocabulary,
  rows: FigureRow[],
  revenueOf: Found['revenueOf'],
): Promise<CohortPerson[]> {
  if (rows.length === 0) return []
  const ids = await source.query({ text: `select no, id from users where no in (${rows.map(row => row.user_no).join(', ')})` })
  const idOf = new Map(ids.map(({ no, id }) => [Number(no), id as string]))
  const platforms = await source.textsOf([...new Set(rows.flatMap(({ platform }) => (platform ? [Number(platform)] : [])))])
  return rows.map(row => {
    const revenue = revenueOf(row)
    return {
      id: `${row.anchor}.${row.user_no}.${row.subscription}`,
      user: idOf.get(Number(row.user_no)) ?? null,
      anchor: Number(row.anchor),
      paid: revenue && { payments: Number(row.payments), revenue, first: Number(row.first), last: Number(row.last) },
      product: products.idOf.get(Number(row.product ?? 0)) ?? null,
      platform: platforms.get(Number(row.platform ?? 0)) ?? null,
    }
  })
}

type PageOptions = { limit: number; after: string | undefined }

/**
 * The people whom a figure of a cell counts, the latest anchor first, one more than the limit: as many as the figure says. `restarted`: the position
 * is none, and these are the first. Replicas do not have the ids of users. Throws `upstream_timeout` after 30 s.
 */
export const peopleOfCell = (
  access: FactAccess,
  environment: Environment,
  requested: RequestedCell,
  { limit, after }: PageOptions,
): Promise<{ people: CohortPerson[]; restarted: boolean; behind: number }> =>
  withFacts(
    { ...access, replicas: null },
    environment,
    async source => {
      const { question } = requested
      const given = after === undefined ? null : positionOf(after)
      const position = given && (await isKnownFact(source, environment, 'user_facts', given.user)) ? given : null
      const restarted = after !== undefined && position === null
      const products = await loadProductVocabulary(access.pool, environment)
      const reader = { scanning: access.scanning, environment, source, products }
      // All of the range: which values are among the other ones does not depend on the cohort.
      const inside = membersIn(await findMembers(reader, question, question.starts), requested)
      const { behind } = source
      if (inside === null) return { people: [], restarted, behind }
      const { statement, revenueOf } =
        requested.period === null ? usersIn(source, inside) : await payersIn(access, source, inside, requested)
      const rows = await source.query({ ...statement, text: ordered(statement.text, position, limit + 1) })
      return { people: await named(source, products, rows, revenueOf), restarted, behind }
    },
    { fresh: requested.question.fresh },
  )
