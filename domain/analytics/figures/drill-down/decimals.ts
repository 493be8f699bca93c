import type { Quotient } from '../charts/rounding.ts'

/** Decimals of a part that is no finite decimal. */
const PLACES = 30

/** The quotient as a decimal text: exact where it has at most 30 decimals, else rounded half away from zero to these. */
export function decimalText({ top, bottom }: Quotient): string {
  const size = top < 0n ? -top : top
  const units = (2n * size * 10n ** BigInt(PLACES) + bottom) / (2n * bottom)
  if (units === 0n) return '0'
  const digits = String(units).padStart(PLACES + 1, '0')
  const fraction = digits.slice(-PLACES).replace(/0+$/, '')
  return `${top < 0n ? '-' : ''}${digits.slice(0, -PLACES)}${fraction === '' ? '' : `.${fraction}`}`
}
