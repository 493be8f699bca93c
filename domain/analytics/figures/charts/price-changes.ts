import { MOVEMENTS } from '../movements.ts'
import { conditionsOf } from '../restriction.ts'
import { hasOtherPrices, hasSamePrice, partsOfSamePrice } from '../same-price.ts'
import { durationJoin, hasDurations, monthlyFactor } from './change-states.ts'
import { converted, convertibleSql, type FactorPart, factorJoins, type StatePrefix } from './money.ts'
import { columnIn, counts, type Scan, type ScanContext } from './scan-rows.ts'

// What changes add to the monthly amount, after less before, in parts by what has to be converted: one state of a gain or a loss, one amount of two
// states with the same price. For questions in which no filter has one state of a change inside and the other one outside.

export type ChangePrefix = Exclude<StatePrefix, ''>
export const PREFIXES: ChangePrefix[] = ['a_', 'b_']

/** The column of an attribute of the user, which both states of a change `c` have in common. */
export const userColumn = columnIn(({ columns }) => (columns.hasOneState ? `c.${columns.state}` : null))

/** Where a driver keeps how each change moves m, and every amount has a rate. */
export const isFasterInParts = ({ source, money: { exchange } }: ScanContext): boolean =>
  source.dialect.isColumnar && exchange.isWhole && exchange.isRated

type Part = Pick<Scan, 'from' | 'happened' | 'where' | 'measured' | 'multipliers' | 'alike'>

/** SQL for whether a row of the part `gainOrLoss` is a gain. */
export const IS_GAIN = `m.moves = ${MOVEMENTS.gain}`

/** `since`: of the changes from this time on; left out: of all. `otherPrices`: the changes between two different prices, which are in no part. */
export function priceChanges(
  context: ScanContext,
  since?: number,
): { gainOrLoss: Part; samePrice: Part; otherPrices: NonNullable<Scan['rare']> } {
  const { source, restriction, now, products } = context
  const { changes } = source.dialect.tables
  const number = source.dialect.samePrice('c')
  const after = since === undefined ? [] : [`c.happened >= ${since}`]
  const where = [...after, counts('c', now), ...conditionsOf(restriction, 'c.user_no', userColumn)]
  return {
    gainOrLoss: gainOrLoss(context, where),
    samePrice: {
      ...samePrice(context, number),
      from: `${changes} c${durationJoin('c', products, 'a_')}`,
      happened: 'c.happened',
      where: [hasSamePrice(number), ...where],
    },
    otherPrices: { from: `${changes} c`, happened: 'c.happened', where: [hasOtherPrices(number), ...where] },
  }
}

/** A change has one state that is converted: of a gain the one after it, of a loss the one before. `where`: conditions on the changes `c`. */
function gainOrLoss({ source, money, products }: ScanContext, where: string[]): Part {
  const moves = source.dialect.moves('c')
  const either = (gained: string, lost: string, name: string) =>
    `case when ${moves} = ${MOVEMENTS.gain} then ${gained} else ${lost} end as ${name}`
  const columns = ['currency', 'bought_on', 'length', 'is_intro', 'product'].map(name => either(`c.a_${name}`, `c.b_${name}`, name))
  const own = [`${moves} as moves`, either('c.a_amount', '-c.b_amount', 'amount'), ...columns]
  return {
    from: `(select c.happened, ${own.join(', ')} from ${source.dialect.tables.changes} c
      where ${[`${moves} in (${MOVEMENTS.gain}, ${MOVEMENTS.loss})`, ...where].join(' and ')}) m${factorJoins('m', money)}${durationJoin('m', products)}`,
    happened: 'm.happened',
    where: [],
    measured: [{ isMoney: true, sql: part => converted(convertibleSql('m', money), money, part), multiplier: 0 }],
    multipliers: [monthlyFactor('m', products)],
  }
}

/** Two states that differ only in the day: there are few days, currencies and lengths, so amounts are added up before they are converted. */
function samePrice({ money, products }: ScanContext, number: string): Pick<Part, 'measured' | 'multipliers' | 'alike'> {
  const factor = monthlyFactor('c', products, 'a_')
  const { length, ...derived } = partsOfSamePrice('s.price')
  const of = (prefix: ChangePrefix, part: FactorPart) => converted('m.amount', money, part, prefix)
  return {
    measured: [{ isMoney: true, sql: part => `${of('a_', part)} - ${of('b_', part)}`, multiplier: 0 }],
    multipliers: [{ ...factor, codes: ['m.length'] }],
    alike: {
      row: 'm',
      // The duration of a product is no part of the number.
      keys: { price: number, ...(hasDurations(products) && { length: factor.codes[0]! }) },
      sums: { amount: 'c.a_amount' },
      derived: hasDurations(products) ? derived : { ...derived, length },
      joins: PREFIXES.map(prefix => factorJoins('m', money, { prefix, currency: 'm.currency' })).join(''),
    },
  }
}
