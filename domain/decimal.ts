/** How many digits a decimal text has after its point. */
export const placesOf = (text: string): number => text.split('.')[1]?.length ?? 0

/** A decimal text as a whole number of 10^-places; further digits are cut off. */
export function scaled(text: string, places: number): bigint {
  const [whole = '', fraction = ''] = text.replace(/^-/, '').split('.')
  const value = BigInt(whole + fraction.slice(0, places).padEnd(places, '0'))
  return text.startsWith('-') ? -value : value
}
