const KNOWN = new Set(Intl.supportedValuesOf('currency'))

/** Whether ISO 4217 knows the upper-case code. */
export const isCurrency = (code: string): boolean => KNOWN.has(code)

/** `5` -> `5.00`, `1.234` -> `1.234`: at least two places, as the export shows amounts; leading zeros go. */
export function decimal(text: string): string {
  const [whole, fraction = ''] = text.replace(/^-/, '').split('.')
  const digits = `${BigInt(whole!)}.${fraction.padEnd(2, '0')}`
  return text.startsWith('-') && /[1-9]/.test(digits) ? `-${digits}` : digits
}

export const negated = (amount: string): string => (amount.startsWith('-') ? amount.slice(1) : /[1-9]/.test(amount) ? `-${amount}` : amount)

/** amount × rate, exact: the rate has at most four places, so the result has four more than the amount, cut to six by rounding half away from zero. */
export function times(amount: string, rate: number): string {
  const negative = amount.startsWith('-')
  const [whole, fraction = ''] = amount.replace(/^-/, '').split('.')
  const scaled = BigInt(whole! + fraction.padEnd(6, '0').slice(0, 6)) * BigInt(Math.round(rate * 10_000))
  const rounded = (scaled + 5_000n) / 10_000n
  const digits = rounded.toString().padStart(7, '0')
  const text = decimal(`${digits.slice(0, -6)}.${digits.slice(-6).replace(/0+$/, '')}`)
  return negative && /[1-9]/.test(text) ? `-${text}` : text
}
