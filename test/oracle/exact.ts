/** An exact number: n ÷ d, with d > 0 and without common factors. */
export type Exact = { readonly n: bigint; readonly d: bigint }

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b))

function reduced(n: bigint, d: bigint): Exact {
  if (d === 0n) throw new RangeError('division by zero')
  const sign = d < 0n ? -1n : 1n
  const divisor = gcd(n < 0n ? -n : n, d * sign) || 1n
  return { n: (sign * n) / divisor, d: (sign * d) / divisor }
}

/** Of a whole number, or of a decimal such as `-12.340`. */
export function exact(value: number | bigint | string): Exact {
  const text = String(value)
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
  if (!match) throw new RangeError(`not a plain decimal: ${text}`)
  const [, sign, whole, decimals = ''] = match
  return reduced(BigInt(`${sign}${whole}${decimals}`), 10n ** BigInt(decimals.length))
}

export const ZERO = exact(0)
export const ONE = exact(1)

export const plus = (a: Exact, b: Exact): Exact => reduced(a.n * b.d + b.n * a.d, a.d * b.d)
export const minus = (a: Exact, b: Exact): Exact => reduced(a.n * b.d - b.n * a.d, a.d * b.d)
export const times = (a: Exact, b: Exact): Exact => reduced(a.n * b.n, a.d * b.d)
export const over = (a: Exact, b: Exact): Exact => reduced(a.n * b.d, a.d * b.n)
export const negated = (a: Exact): Exact => ({ n: -a.n, d: a.d })
export const magnitude = (a: Exact): Exact => (a.n < 0n ? negated(a) : a)
export const sum = (values: Iterable<Exact>): Exact => [...values].reduce(plus, ZERO)
export const order = (a: Exact, b: Exact): number => {
  const difference = a.n * b.d - b.n * a.d
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
export const least = (a: Exact, b: Exact): Exact => (order(a, b) <= 0 ? a : b)

/** Half away from zero. */
export function rounded(value: Exact, decimals: number): Exact {
  const scale = 10n ** BigInt(decimals)
  const n = (value.n < 0n ? -value.n : value.n) * scale
  const units = (2n * n + value.d) / (2n * value.d)
  return reduced(value.n < 0n ? -units : units, scale)
}

/** The number that a JSON answer shows: the one nearest to the rounded decimal, never -0. */
export function shown(value: Exact, decimals: number): number {
  const { n, d } = rounded(value, decimals)
  const units = (n * 10n ** BigInt(decimals)) / d
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0')
  const number = Number(decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`)
  return units < 0n ? -number : number
}
