import { plus } from '../../events/money.ts'

/**
 * Money that a store credited of a transaction without a refund: for the unused rest of a plan that was changed, or on the customer's balance.
 * `at`: ISO. `isOfUpgrade`: the value of the event of the upgrade says it.
 */
export type Credit = { at: string; amount: string; isOfUpgrade?: true }

export const creditedAmount = (credits: readonly Credit[]): string => credits.reduce((sum, { amount }) => plus(sum, amount), '0')

/** What the plan of a period costs and how long it lasts, where the period is cut or prorated. */
export type Plan = { price: string; days: number }
