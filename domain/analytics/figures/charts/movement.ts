import { attributeOf, isColumn } from '../attributes.ts'
import { MOVEMENTS } from '../movements.ts'
import { conditionsOf, type Restriction } from '../restriction.ts'
import { hasOtherPrices } from '../same-price.ts'
import { durationJoin, monthlyFactor, sixteenthsOfState, statesDiffer } from './change-states.ts'
import { converted, convertibleSql, factorJoins, isLeftOut } from './money.ts'
import { type ChangePrefix, IS_GAIN, isFasterInParts, PREFIXES, priceChanges, userColumn } from './price-changes.ts'
import { columnIn, countedRows, counts, type Scan, type ScanContext, type Term } from './scan-rows.ts'

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
    : [own, [`${own} <> ${MOVEMENTS.none}`, ...conditionsOf(restriction, 'c.user_no', userColumn)].join(' and ')]
  return `(select ${['c.happened', `${moves} as moves`, `${statesDiffer(source.dialect)('c')} as differs`, ...columns, ...more].join(', ')}
    from ${source.dialect.tables.changes} c
    where ${counts('c', now)} and (${isAny}))`
}

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
  return isFasterInParts(context) && !dividesStates(context.restriction) ? { ...all, parts: movementParts(context, all) } : all
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

/** In parts, by how the changes move m. */
function movementParts(context: ScanContext, all: Scan): Scan[] {
  const { gainOrLoss, samePrice, otherPrices } = priceChanges(context)
  const terms = KINDS.map((kind): Term => ({ plus: 0, within: [kind] }))
  const number = context.source.dialect.samePrice('c')
  return [
    { ...all, ...gainOrLoss, terms, split: `case when ${IS_GAIN} then ${NEW} else ${CHURN} end` },
    { ...all, ...samePrice, terms, split: `case when fa_.factor > fb_.factor then ${EXPANSION} else ${CONTRACTION} end` },
    { ...movementAtOnce(context, [`${number} as same_price`]), where: [hasOtherPrices('m.same_price')], rare: otherPrices },
  ]
}
