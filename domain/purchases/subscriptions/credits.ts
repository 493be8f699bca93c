import { plus } from '../../events/money.ts'

/**
 * Money that a store credited for a transaction without a refund: for the unused rest of a plan that was changed, or to the customer's
 * balance. `at`: ISO. `isOfUpgrade`: the value of the upgrade's event contains it.
 */
export type Credit = { at: string; amount: string; isOfUpgrade?: true }

export const creditedAmount = (credits: readonly Credit[]): string => credits.reduce((sum, { amount }) => plus(sum, amount), '0')

/** The price and the length of the plan of a period that is cut or prorated. */
export type Plan = { price: string; days: number }
