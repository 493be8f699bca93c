/** How many digits a decimal text has after its point. */
export const placesOf = (text: string): number => text.split('.')[1]?.length ?? 0

/** A decimal text as a whole number of 10^-places; further digits are cut off. */
export function scaled(text: string, places: number): bigint {
  const isNegative = text.startsWith('-')
  const point = text.indexOf('.')
  const whole = text.slice(isNegative ? 1 : 0, point === -1 ? undefined : point)
  const fraction = point === -1 ? '' : text.slice(point + 1, point + 1 + places)
  const value = BigInt(whole + fraction.padEnd(places, '0'))
  return isNegative ? -value : value
}

/** Decimal text of a number of 10^-places, without trailing zeros. */
export function exactDecimal(value: bigint, places: number): string {
  if (places === 0) return String(value)
  const digits = (value < 0n ? -value : value).toString().padStart(places + 1, '0')
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '')
  return value < 0n ? `-${text}` : text
}

/** An exact sum to which decimal texts are added one after the other. */
export function exactSum() {
  let [sum, places] = [0n, 0]
  return {
    add(text: string): void {
      const own = placesOf(text)
      if (own > places) {
        sum *= 10n ** BigInt(own - places)
        places = own
      }
      sum += scaled(text, places)
    },
    total: (): string => exactDecimal(sum, places),
  }
}

/** The exact product of two decimal texts. */
export function productOf(a: string, b: string): string {
  const [placesOfA, placesOfB] = [placesOf(a), placesOf(b)]
  return exactDecimal(scaled(a, placesOfA) * scaled(b, placesOfB), placesOfA + placesOfB)
}
