import { SUBSCRIPTION_STATE } from '../../facts/rows.ts'
import type { ColumnAttribute } from '../attributes.ts'
import { conditionsOf } from '../restriction.ts'
import { hasOtherPrices } from '../same-price.ts'
import { durationJoin, monthlyFactor, type RowCondition, standingSql, stateColumn, statesSql } from './change-states.ts'
import { converted, convertibleSql, factorJoins, isLeftOut } from './money.ts'
import { isFasterInParts, priceChanges } from './price-changes.ts'
import { columnIn, counts, measuredSum, type Scan, type ScanContext } from './scan-rows.ts'

// What stands at a time: the sum of what all changes until then have added.

/** `only`: the changes whose two states differ in what is summed. The others add nothing, where both states of a change are in the same sums. */
function statesOf({ source, snapshot, states, areStatesTogether }: ScanContext, only: RowCondition | null): string {
  return states ?? statesSql(source.dialect.tables.changes, { snapshot: snapshot ?? null, only: areStatesTogether ? only : null })
}

function changeStates(
  context: ScanContext,
  {
    joins,
    condition,
    only,
    ...parts
  }: { joins: string; condition: string; only?: RowCondition } & Pick<Scan, 'measured' | 'split' | 'terms' | 'multipliers' | 'leftOut'>,
): Scan {
  const { restriction, now } = context
  const column = (attribute: ColumnAttribute) => stateColumn('s', attribute)
  return {
    ...parts,
    from: `${statesOf(context, only ?? null)} s${joins}`,
    happened: 's.happened',
    where: [condition, counts('s', now), ...conditionsOf(restriction, 's.user_no', columnIn(column))],
    column,
  }
}

/** Monthly amounts that stand, in parts where these are faster. */
export function monthly(context: ScanContext): Scan {
  const all = monthlyAtOnce(context)
  const isInParts = isFasterInParts(context) && context.areStatesTogether === true && context.states === undefined
  return isInParts ? { ...all, parts: monthlyParts(context, all) } : all
}

const monthlyAtOnce = (context: ScanContext): Scan => {
  const { money } = context
  return changeStates(context, {
    joins: `${factorJoins('s', money)}${durationJoin('s', context.products)}`,
    condition: 's.amount is not null',
    measured: [{ isMoney: true, sql: part => converted(`s.sign * ${convertibleSql('s', money)}`, money, part), multiplier: 0 }],
    split: null,
    multipliers: [monthlyFactor('s', context.products)],
    terms: [{ plus: 0 }],
    leftOut: `case when ${isLeftOut('s')} then s.sign else 0 end`,
  })
}

/** The states of the snapshot, and what each change since then adds to them. */
function monthlyParts(context: ScanContext, all: Scan): Scan[] {
  const { source, snapshot } = context
  const { changes } = source.dialect.tables
  const { gainOrLoss, samePrice, otherPrices } = priceChanges(context, snapshot?.at)
  const others = statesSql(changes, { since: snapshot?.at, only: row => hasOtherPrices(source.dialect.samePrice(row)) })
  return [
    ...(snapshot ? [monthlyAtOnce({ ...context, states: standingSql(snapshot) })] : []),
    { ...all, ...gainOrLoss },
    { ...all, ...samePrice },
    { ...monthlyAtOnce({ ...context, states: others }), rare: otherPrices },
  ]
}

/** Subscriptions in these states. `kinds`, one for each term: 1 auto-renew on, 0 off, 2 in grace. */
export const subscriptionsIn = (context: ScanContext, states: number[], kinds: number[]): Scan =>
  changeStates(context, {
    joins: '',
    condition: `s.state in (${states.join(', ')})`,
    only: context.source.dialect.changesState,
    measured: [measuredSum('s.sign')],
    split: `case when s.state = ${SUBSCRIPTION_STATE.grace} then 2 when s.renewing then 1 else 0 end`,
    multipliers: [],
    terms: kinds.map(kind => ({ plus: 0, within: [kind] })),
    leftOut: null,
  })
