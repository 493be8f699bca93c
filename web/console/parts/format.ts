import { nowHere } from '../data/clock.ts'

// Making an Intl formatter costs some 0.1 ms and a page asks for hundreds: one of each is kept.
const kept = new Map<string, unknown>()
function once<Format>(key: string, make: () => Format): Format {
  let format = kept.get(key) as Format | undefined
  if (format === undefined) {
    format = make()
    kept.set(key, format)
  }
  return format
}

export const dateFormat = (locale: string, options: Intl.DateTimeFormatOptions) =>
  once(`d${locale}${JSON.stringify(options)}`, () => new Intl.DateTimeFormat(locale, options))
const numberFormat = (options: Intl.NumberFormatOptions) => once(`n${JSON.stringify(options)}`, () => new Intl.NumberFormat('en', options))
const relativeFormat = () => once('r', () => new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' }))

export type Measure = 'usd' | 'count' | 'percent'

/** A figure as it is read: money with its currency, shares in percent. `short`: as it fits on a tile or an axis. */
export function figure(value: number, measure: Measure = 'count', currency = 'USD', short = false): string {
  return withMinus(plainFigure(value, measure, currency, short))
}

/** The sign of Intl is a hyphen, which is shorter than the plus beside it. */
const withMinus = (text: string) => text.replace('-', '−')

function plainFigure(value: number, measure: Measure, currency: string, short: boolean): string {
  if (measure === 'percent')
    return `${numberFormat({ minimumFractionDigits: short ? 1 : 2, maximumFractionDigits: short ? 1 : 2 }).format(value)} %`
  if (measure === 'usd') return money(value, currency, short)
  const options = short && Math.abs(value) >= 100_000 ? COMPACT : { maximumFractionDigits: 2 }
  return numberFormat(options).format(value)
}

const COMPACT: Intl.NumberFormatOptions = { notation: 'compact', maximumFractionDigits: 1 }

function money(value: number, currency: string, short: boolean): string {
  const style = { style: 'currency', currency } as const
  return numberFormat(short && Math.abs(value) >= 100_000 ? { ...style, ...COMPACT } : style).format(value)
}

/** The figure of an axis: two or three digits. */
export function axisFigure(value: number, measure: Measure, currency: string): string {
  return withMinus(plainAxisFigure(value, measure, currency))
}

function plainAxisFigure(value: number, measure: Measure, currency: string): string {
  if (measure === 'percent') return `${numberFormat({ maximumFractionDigits: 1 }).format(value)} %`
  if (measure === 'count') return numberFormat(COMPACT).format(value)
  return numberFormat({ style: 'currency', currency, ...COMPACT, minimumFractionDigits: 0 }).format(value)
}

export const count = (value: number): string => figure(value)

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const

/** A bucket of a chart by its start. `long` as in a table. */
export function bucket(second: number, unit: string, zone: string, long = false): string {
  const options: Intl.DateTimeFormatOptions =
    unit === 'month'
      ? { month: long ? 'long' : 'short', year: 'numeric' }
      : unit === 'hour'
        ? { day: 'numeric', month: 'short', ...CLOCK }
        : { day: 'numeric', month: 'short', ...(long && { year: 'numeric', weekday: 'short' }) }
  const text = dateFormat('en-GB', { timeZone: zone, ...options }).format(second * 1000)
  return unit === 'hour' && isTwice(second, zone) ? `${text} ${offsetOf(second, zone)}` : text
}

const wallClock = (second: number, zone: string) => dateFormat('en-GB', { timeZone: zone, ...CLOCK }).format(second * 1000)

/** Whether the clock shows the time of a moment twice on that day, as it does when it is put back: by an hour, on Lord Howe by half of one. */
const isTwice = (second: number, zone: string) =>
  [-3_600, -1_800, 1_800, 3_600].some(later => wallClock(second + later, zone) === wallClock(second, zone))

const offsetOf = (second: number, zone: string) =>
  dateFormat('en-GB', { timeZone: zone, timeZoneName: 'shortOffset' })
    .formatToParts(second * 1000)
    .find(({ type }) => type === 'timeZoneName')?.value ?? ''

/** A moment to the second: `24 Nov 2026, 22:55:31`. */
export const moment = (time: string | number, zone: string): string =>
  dateFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short', year: 'numeric', ...CLOCK, second: '2-digit' }).format(dateOf(time))

/** An ISO time, or Unix seconds. */
export const dateOf = (time: string | number): Date => new Date(typeof time === 'number' ? time * 1000 : time)

const STEPS: [limit: number, seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 1, 'second'],
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [86_400 * 60, 86_400, 'day'],
  [Number.POSITIVE_INFINITY, 86_400 * 30.44, 'month'],
]

/** Seconds by which the clocks of a browser and of the service may differ: nothing has happened ahead of now. */
const SKEW = 5

/** `44 min. ago`, by the clock of the environment. */
export function ago(time: string | number, now = nowHere()): string {
  const exact = (dateOf(time).getTime() - now) / 1000
  const seconds = exact > 0 && exact < SKEW ? 0 : exact
  const [, size, unit] = STEPS.find(([limit]) => Math.abs(seconds) < limit)!
  return relativeFormat().format(Math.round(seconds / size), unit)
}

/** How long something takes: `840 ms`, `3 min 12 s`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round(ms / 1_000) % 60} s`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.round(ms / 60_000) % 60} min`
  return `${(ms / 86_400_000).toFixed(1)} d`
}

/** The change against a previous value, in percent; over 1,000 % as a factor. Undefined when there is nothing to compare with. */
export function change(now: number, before: number): { text: string; up: boolean; flat: boolean } | undefined {
  if (before === 0) return undefined
  const percent = ((now - before) / Math.abs(before)) * 100
  const flat = Math.abs(percent) < 0.05
  const text = percent >= 1_000 ? `×${count(Math.round(now / before))}` : `${percent >= 0 ? '+' : '−'}${Math.abs(percent).toFixed(1)} %`
  return { text: flat ? '0.0 %' : text, up: percent >= 0, flat }
}
