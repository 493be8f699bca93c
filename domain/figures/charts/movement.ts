import { conditionsOf } from '../restriction.ts'
import { amountSql, factorJoins, isLeftOut } from './money.ts'
import { columnIn, countedRows, counts, type Scan, type ScanContext } from './scan-rows.ts'
import { durationJoin, monthlyFactor } from './sides.ts'

type Side = 'a_' | 'b_'
const SIDES: Side[] = ['a_', 'b_']

/** SQL for whether a side of the change `c` counts for MRR and is inside of the filters. */
function isInside(side: Side, { restriction }: ScanContext): string {
  const column = columnIn(({ columns }) => (columns.oneSided ? `c.${columns.side}` : `c.${side}${columns.side}`))
  return [`c.${side}amount is not null`, ...conditionsOf(restriction, 'c.user_no', column)].join(' and ')
}

const ofSides = (name: (side: Side) => string[]): string[] => SIDES.flatMap(name)

/** Each change with what decides its monthly amounts before and after; a side outside of the filters has none. `more`: further columns. */
function changesSql(context: ScanContext, more: string[]): string {
  const { source, now } = context
  const columns = ofSides(side => {
    const values = [
      ...['amount', 'usd_given', 'currency', 'bought_on'].map(name => [name, `c.${side}${name}`] as const),
      ['monthly', monthlyFactor('c', side)] as const,
    ]
    return values.map(([name, value]) => `case when ${isInside(side, context)} then ${value} end as ${side}${name}`)
  })
  const isAny = SIDES.map(side => `(${isInside(side, context)})`).join(' or ')
  return `(select ${['c.happened', ...columns, ...more].join(', ')} from ${source.dialect.tables.changes} c${ofSides(side => [durationJoin('c', side)]).join('')}
    where ${counts('c', now)} and (${isAny}))`
}

/**
 * Whether the two sides differ in nothing but the day whose rate converts them: then the difference of the sums of such changes is the sum of their
 * differences, and all of them have the same sign.
 */
export const IS_SAME = ['amount', 'usd_given', 'currency', 'monthly']
  .map(name => `m.a_${name} is not distinct from m.b_${name}`)
  .join(' and ')
const IS_ADDED = `(m.a_amount is null or m.b_amount is null or (${IS_SAME}))`

/**
 * Changes of the monthly amount m, by their kind. Gains and losses of subscriptions, and renewals at the same price, are added up before. `more`:
 * further columns of the changes `c`, for the rows that are not added up.
 */
export function movement(context: ScanContext, more: string[] = []): Scan {
  const { money } = context
  const amount = (side: Side) => `(case when m.${side}amount is null then 0 else m.${side}monthly * (${amountSql('m', money, side)}) end)`
  const [after, before] = [amount('a_'), amount('b_')]
  const joins = ofSides(side => [factorJoins('m', money, side)]).join('')
  const isLeft = SIDES.map(side => `(${isLeftOut('m', side)})`).join(' or ')
  const terms = [
    `case when ${before} = 0 then ${after} else 0 end`,
    `case when ${before} > 0 and ${after} > ${before} then ${after} - ${before} else 0 end`,
    `case when ${after} > 0 and ${after} < ${before} then ${after} - ${before} else 0 end`,
    `case when ${after} = 0 then -${before} else 0 end`,
  ]
  const changes = changesSql(context, more)
  const keys = [
    ['is_added', IS_ADDED],
    ...ofSides(side => ['currency', 'bought_on', 'monthly'].map(name => `${side}${name}`)).map(name => [name, `m.${name}`]),
    ...ofSides(side => ['amount', 'usd_given'].map(name => `${side}${name}`)).map(name => [
      `${name}_key`,
      `case when not ${IS_ADDED} then m.${name} end`,
    ]),
    ...ofSides(side => [`${side}usd_given`]).map(name => [`is_no_${name}`, `m.${name} is null`]),
  ]
  const sums = ofSides(side => [`${side}amount`, `${side}usd_given`]).map(name => [name, `sum(m.${name})`])
  return {
    from: `${changes} m${joins}`,
    happened: 'm.happened',
    where: [],
    terms,
    leftOut: countedRows(isLeft),
    column: () => {
      throw new RangeError('a movement has two values of an attribute')
    },
    collapsed: {
      row: 'm',
      rows: `${changes} m`,
      keys: Object.fromEntries(keys),
      sums: { ...Object.fromEntries(sums), weight: 'count(*)' },
      joins,
      terms,
      leftOut: countedRows(isLeft, 'm.weight'),
    },
  }
}
