import { attributeOf, isColumn } from '../attributes.ts'
import { MOVEMENTS } from '../movements.ts'
import { conditionsOf, type Restriction } from '../restriction.ts'
import { hasOtherPrices, hasSamePrice, partsOfSamePrice } from '../same-price.ts'
import { durationJoin, hasDurations, monthlyFactor, sixteenthsOfState, statesDiffer } from './change-states.ts'
import { converted, convertibleSql, type FactorPart, factorJoins, isLeftOut, type StatePrefix } from './money.ts'
import { columnIn, countedRows, counts, type Scan, type ScanContext, type Term } from './scan-rows.ts'

type ChangePrefix = Exclude<StatePrefix, ''>
const PREFIXES: ChangePrefix[] = ['a_', 'b_']

/** SQL for whether a state of the change `c` counts for MRR and is inside of the filters. */
function isInside(prefix: ChangePrefix, { restriction }: ScanContext): string {
  const column = columnIn(({ columns }) => (columns.hasOneState ? `c.${columns.state}` : `c.${prefix}${columns.state}`))
  return [`c.${prefix}amount is not null`, ...conditionsOf(restriction, 'c.user_no', column)].join(' and ')
}

/** Whether one state of a change can be inside of the filters while the other one, which counts too, is outside. */
export const dividesStates = ({ byAttribute, segment }: Restriction): boolean =>
  [...byAttribute.keys(), ...(segment ? [segment.code] : [])].some(code => {
    const attribute = attributeOf(code)!
    return isColumn(attribute) && !attribute.columns.hasOneState
  })

const OF_A_STATE = ['amount', 'usd_given', 'currency', 'bought_on', 'length', 'is_intro', 'product']

/**
 * Each change with the columns that decide its monthly amounts before and after; a state outside of the filters has no amount. `more`:
 * further columns.
 */
function changesSql(context: ScanContext, more: string[]): string {
  const { source, restriction, now } = context
  const isDivided = dividesStates(restriction)
  const columns = PREFIXES.flatMap(prefix =>
    OF_A_STATE.map(name => {
      const isAmount = name === 'amount' || name === 'usd_given'
      return `${isDivided && isAmount ? `case when ${isInside(prefix, context)} then c.${prefix}${name} end` : `c.${prefix}${name}`} as ${prefix}${name}`
    }),
  )
  const own = source.dialect.moves('c')
  const [moves, isAny] = isDivided
    ? [
        `case when ${isInside('b_', context)} then case when ${isInside('a_', context)} then ${own} else ${MOVEMENTS.loss} end else ${MOVEMENTS.gain} end`,
        PREFIXES.map(prefix => `(${isInside(prefix, context)})`).join(' or '),
      ]
    : [own, [`${own} <> ${MOVEMENTS.none}`, ...conditionsOf(restriction, 'c.user_no', ofUser)].join(' and ')]
  return `(select ${['c.happened', `${moves} as moves`, `${statesDiffer(source.dialect)('c')} as differs`, ...columns, ...more].join(', ')}
    from ${source.dialect.tables.changes} c
    where ${counts('c', now)} and (${isAny}))`
}

/** The column of an attribute of the user, which both states have in common. */
const ofUser = columnIn(({ columns }) => (columns.hasOneState ? `c.${columns.state}` : null))

/** Whether the two states of `m` differ in nothing but the day whose rate converts them. */
export const IS_SAME_PRICE = `m.moves = ${MOVEMENTS.samePrice}`

const KINDS = [1, 2, 3, 4]
const [NEW, EXPANSION, CONTRACTION, CHURN] = KINDS as [number, number, number, number]

/** Which term a change belongs to; 0: it moves nothing. Only where the price is another one, the converted amounts must be compared. */
function kindSql({ money, products }: ScanContext): string {
  // Each amount is multiplied by the length of the other period, instead of divided by its own.
  const amount = (prefix: ChangePrefix, other: ChangePrefix) =>
    `(${sixteenthsOfState('m', products, other)} * coalesce(${converted(convertibleSql('m', money, prefix), money, 'whole', prefix)}, 0))`
  const [after, before] = [amount('a_', 'b_'), amount('b_', 'a_')]
  return `case m.moves when ${MOVEMENTS.gain} then ${NEW} when ${MOVEMENTS.loss} then ${CHURN}
    when ${MOVEMENTS.samePrice} then case when fa_.factor > fb_.factor then ${EXPANSION} when fa_.factor < fb_.factor then ${CONTRACTION} else 0 end
    else case when ${before} = 0 then ${NEW} when ${after} = 0 then ${CHURN} when ${after} > ${before} then ${EXPANSION}
      when ${after} < ${before} then ${CONTRACTION} else 0 end end`
}

/** Changes of the monthly amount m, by their kind, in parts where these are faster. */
export function movement(context: ScanContext): Scan {
  const all = movementAtOnce(context)
  const { source, money, restriction } = context
  const { isWhole, isRated } = money.exchange
  return source.dialect.isColumnar && isWhole && isRated && !dividesStates(restriction)
    ? { ...all, parts: movementParts(context, all) }
    : all
}

/** The same as one pass. `more`: further columns of the changes `c`. */
export function movementAtOnce(context: ScanContext, more: string[] = []): Scan {
  const { money, products } = context
  const joins = PREFIXES.map(prefix => `${factorJoins('m', money, { prefix, isOptional: true })}${durationJoin('m', products, prefix)}`)
  const difference = (kind: number): Term => ({ plus: 0, minus: 1, within: [kind] })
  return {
    from: `${changesSql(context, more)} m${joins.join('')}`,
    happened: 'm.happened',
    where: [],
    measured: PREFIXES.map((prefix, multiplier) => ({
      isMoney: true,
      sql: part => converted(convertibleSql('m', money, prefix), money, part, prefix),
      multiplier,
    })),
    split: kindSql(context),
    multipliers: PREFIXES.map(prefix => monthlyFactor('m', products, prefix)),
    terms: KINDS.map(difference),
    leftOut: countedRows(`m.differs and (${PREFIXES.map(prefix => `(${isLeftOut('m', prefix)})`).join(' or ')})`),
    column: () => {
      throw new RangeError('a movement has two values of an attribute')
    },
  }
}

/** The changes by how they move m, where no filter has one state of a change inside and the other outside. A gain or a loss has one state to convert. */
function movementParts(context: ScanContext, all: Scan): Scan[] {
  const { source, restriction, now, products } = context
  const { changes } = source.dialect.tables
  const where = [counts('c', now), ...conditionsOf(restriction, 'c.user_no', ofUser)]
  const number = source.dialect.samePrice('c')
  const own = { ...all, happened: 'c.happened', terms: KINDS.map((kind): Term => ({ plus: 0, within: [kind] })) }
  return [
    { ...own, ...gainOrLoss(context, where) },
    {
      ...own,
      ...samePrice(context, number),
      from: `${changes} c${durationJoin('c', products, 'a_')}`,
      where: [hasSamePrice(number), ...where],
    },
    {
      ...movementAtOnce(context, [`${number} as same_price`]),
      where: [hasOtherPrices('m.same_price')],
      rare: { from: `${changes} c`, happened: 'c.happened', where: [hasOtherPrices(number), ...where] },
    },
  ]
}

/** A change has one state that is converted: of a gain the one after it, of a loss the one before. `where`: conditions on the changes `c`. */
function gainOrLoss(
  { source, money, products }: ScanContext,
  where: string[],
): Pick<Scan, 'from' | 'happened' | 'where' | 'measured' | 'split' | 'multipliers'> {
  const moves = source.dialect.moves('c')
  const either = (gained: string, lost: string, name: string) =>
    `case when ${moves} = ${MOVEMENTS.gain} then ${gained} else ${lost} end as ${name}`
  const columns = ['currency', 'bought_on', 'length', 'is_intro', 'product'].map(name => either(`c.a_${name}`, `c.b_${name}`, name))
  const own = [either('c.a_amount', '-c.b_amount', 'amount'), either(String(NEW), String(CHURN), 'kind'), ...columns]
  return {
    from: `(select c.happened, ${own.join(', ')} from ${source.dialect.tables.changes} c
      where ${[`${moves} in (${MOVEMENTS.gain}, ${MOVEMENTS.loss})`, ...where].join(' and ')}) m${factorJoins('m', money)}${durationJoin('m', products)}`,
    happened: 'm.happened',
    where: [],
    measured: [{ isMoney: true, sql: part => converted(convertibleSql('m', money), money, part), multiplier: 0 }],
    split: 'm.kind',
    multipliers: [monthlyFactor('m', products)],
  }
}

/** Two states that differ only in the day: there are few days, currencies and lengths, so amounts are added up first, and the factors are compared. */
function samePrice({ money, products }: ScanContext, number: string): Pick<Scan, 'measured' | 'split' | 'multipliers' | 'alike'> {
  const factor = monthlyFactor('c', products, 'a_')
  const { length, ...derived } = partsOfSamePrice('s.price')
  const of = (prefix: ChangePrefix, part: FactorPart) => converted('m.amount', money, part, prefix)
  return {
    measured: [{ isMoney: true, sql: part => `${of('a_', part)} - ${of('b_', part)}`, multiplier: 0 }],
    split: `case when fa_.factor > fb_.factor then ${EXPANSION} else ${CONTRACTION} end`,
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
