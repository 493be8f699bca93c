/** How a change moves the monthly amount m, computed from its two states alone: a state that does not count for MRR has no amount. */
export const MOVEMENTS = { none: 0, gain: 1, loss: 2, samePrice: 3, other: 4 } as const

/** The fields that two states share if they differ only in the day whose rate converts the price. */
const OF_A_PRICE = ['amount', 'usd_given', 'currency', 'product', 'length', 'is_intro']

/** SQL of Postgres for the number of a change. */
export function movementsSql(row: string): string {
  const isSame = OF_A_PRICE.map(name => `${row}.a_${name} is not distinct from ${row}.b_${name}`).join(' and ')
  return `case when ${row}.a_amount is null and ${row}.b_amount is null then ${MOVEMENTS.none} when ${row}.b_amount is null then ${MOVEMENTS.gain}
    when ${row}.a_amount is null then ${MOVEMENTS.loss} when ${isSame} then ${MOVEMENTS.samePrice} else ${MOVEMENTS.other} end`
}

/** SQL of Postgres: the state of the subscription is another one, or its auto-renew. Most changes are renewals, which change neither. */
export const changesStateSql = (row: string): string =>
  `(${row}.a_state, ${row}.a_renewing) is distinct from (${row}.b_state, ${row}.b_renewing)`
