import { roundedFigure } from '../charts/rounding.ts'

const MONEY_DECIMALS = 2

/** Money of which `perUnit` are one unit of its currency, divided by a number of users or subscriptions. */
export const shownMoney = (money: bigint, perUnit: bigint, by = 1): number =>
  roundedFigure({ top: money, bottom: BigInt(by) * perUnit }, MONEY_DECIMALS)
