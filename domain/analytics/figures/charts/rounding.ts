/** Amounts of facts are millionths of their currency. */
export const PER_MILLION = 1_000_000n

/** A number of a figure before it is rounded: top ÷ bottom. */
export type Quotient = { top: bigint; bottom: bigint }

export const totalOf = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)

const size = (value: bigint): bigint => (value < 0n ? -value : value)

/** Rounded half away from zero to so many decimals; 0 when the denominator is 0. */
export function roundedFigure({ top, bottom }: Quotient, decimals: number): number {
  if (bottom === 0n) return 0
  const units = (2n * size(top) * 10n ** BigInt(decimals) + size(bottom)) / (2n * size(bottom))
  if (units === 0n) return 0
  const digits = String(units).padStart(decimals + 1, '0')
  const number = Number(decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`)
  return top < 0n === bottom < 0n ? number : -number
}

/** A quotient without a denominator is 0. */
const defined = (value: Quotient): Quotient => (value.bottom === 0n ? { top: 0n, bottom: 1n } : value)

/** Negative when a is less than b, by their sizes without sign. */
export function compareSizes(a: Quotient, b: Quotient): number {
  const [p, q] = [defined(a), defined(b)]
  const [left, right] = [size(p.top) * size(q.bottom), size(q.top) * size(p.bottom)]
  return left < right ? -1 : left > right ? 1 : 0
}
