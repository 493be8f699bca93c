/** How the value of a condition on a time is given: so long ago, a day, or what the service accepts besides. */
export type TimeForm = { is: 'ago'; n: string; unit: Unit } | { is: 'day'; day: string } | { is: 'exact'; text: string }
export type Unit = 'D' | 'W' | 'M' | 'Y' | 'H'

export const UNITS: Readonly<Record<Unit, readonly [string, string]>> = {
  H: ['{n} hour', '{n} hours'],
  D: ['{n} day', '{n} days'],
  W: ['{n} week', '{n} weeks'],
  M: ['{n} month', '{n} months'],
  Y: ['{n} year', '{n} years'],
}

const AGO = /^-P(?:(\d*)([DWMY])|T(\d*)H)$/

export function timeFormOf(value: string): TimeForm {
  const ago = AGO.exec(value)
  if (ago) return { is: 'ago', n: ago[1] ?? ago[3] ?? '', unit: (ago[2] as Unit | undefined) ?? 'H' }
  return value === '' || /^\d{4}-\d\d-\d\d$/.test(value) ? { is: 'day', day: value } : { is: 'exact', text: value }
}

export const agoValue = (n: string, unit: Unit): string => (unit === 'H' ? `-PT${n}H` : `-P${n}${unit}`)
