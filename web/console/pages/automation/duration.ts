import { counted, t } from '../../parts/t.ts'

const UNITS = {
  Y: ['{n} year', '{n} years'],
  M: ['{n} month', '{n} months'],
  W: ['{n} week', '{n} weeks'],
  D: ['{n} day', '{n} days'],
  H: ['{n} hour', '{n} hours'],
  m: ['{n} minute', '{n} minutes'],
  S: ['{n} second', '{n} seconds'],
} as const
type Unit = keyof typeof UNITS

/** `P1DT2H` in words: `1 day 2 hours`. What is no duration is shown as it is. */
export function durationText(iso: string): string {
  const [days = '', time = ''] = iso.replace(/^P/, '').split('T')
  const parts = [
    ...days.matchAll(/(\d+)([YMWD])/g),
    ...[...time.matchAll(/(\d+)([HMS])/g)].map(([, n, unit]) => ['', n, unit === 'M' ? 'm' : unit]),
  ]
  return parts.map(([, n, unit]) => counted(Number(n), UNITS[unit as Unit][0], UNITS[unit as Unit][1])).join(' ') || iso
}

export type SimpleUnit = 'S' | 'm' | 'H' | 'D' | 'W' | 'M'
export const SIMPLE_UNITS: readonly (readonly [SimpleUnit, string])[] = [
  ['S', t('seconds')],
  ['m', t('minutes')],
  ['H', t('hours')],
  ['D', t('days')],
  ['W', t('weeks')],
  ['M', t('months')],
]

/** A duration of one unit, as a form asks for it; undefined for any other. */
export function simpleDuration(iso: string): { n: number; unit: SimpleUnit } | undefined {
  const days = /^P(\d+)([MWD])$/.exec(iso)
  if (days) return { n: Number(days[1]), unit: days[2] as SimpleUnit }
  const time = /^PT(\d+)([HMS])$/.exec(iso)
  if (time) return { n: Number(time[1]), unit: time[2] === 'M' ? 'm' : (time[2] as SimpleUnit) }
  return undefined
}

export const durationOf = (n: number, unit: SimpleUnit): string =>
  unit === 'M' || unit === 'W' || unit === 'D' ? `P${n}${unit}` : `PT${n}${unit.toUpperCase()}`
