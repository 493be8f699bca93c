import { roundedFigure } from '../../../domain/analytics/figures/charts/rounding.ts'
import type { LeftOutMoney } from '../../../domain/analytics/figures/charts/unconverted.ts'

const PLACES = 2

/** The optional part of an answer with money: only where an amount could not be converted. */
export const unconverted = (rows: LeftOutMoney[]) =>
  rows.length > 0 && {
    unconverted: rows.map(({ currency, transactions, amount, refunds, refunded }) => ({
      currency,
      transactions,
      amount: roundedFigure(amount, PLACES),
      ...(refunds > 0 && { refunds, refunded_amount: roundedFigure(refunded, PLACES) }),
    })),
  }
