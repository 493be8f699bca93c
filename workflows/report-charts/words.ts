import { DateTime } from 'luxon'
import { localTimeOf } from '../../domain/kernel/time/local-time.ts'
import { type Headline, headlineOf, type ReportFigure, wholeOf } from '../../domain/reporting/reports/chart-figures.ts'

type Answer = ReportFigure['answer']

const made = new Map<string, Intl.NumberFormat>()
function format(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options)
  const found = made.get(key) ?? new Intl.NumberFormat('en', options)
  made.set(key, found)
  return found
}

/** A figure as people read it: money with its currency, shares in percent. */
export function figureText(value: number, { measure, currency }: Pick<Answer, 'measure' | 'currency'>): string {
  if (measure === 'percent') return `${format({ minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value)} %`
  return format(measure === 'usd' ? { style: 'currency', currency } : { maximumFractionDigits: 2 }).format(value)
}

const dayOf = (second: number, zone: string, withYear = true) =>
  DateTime.fromSeconds(second, { zone, locale: 'en-GB' }).toFormat(withYear ? 'd LLL yyyy' : 'd LLL')

/** A moment on the clocks of the zone. */
export const momentText = (second: number, zone: string): string => localTimeOf(new Date(second * 1_000).toISOString(), zone)

/** The days of a window: `16 Nov 2026 to 22 Nov 2026`. */
export function windowText({ from, to }: Pick<Answer, 'from' | 'to'>, zone: string): string {
  const [first, last] = [dayOf(from, zone), dayOf(to - 1, zone)]
  return first === last ? first : `${first} to ${last}`
}

/** The change in percent, over 1,000 % as a factor; null: there was nothing before. */
export function changeText({ now, before }: Pick<Headline, 'now' | 'before'>): string | null {
  if (before === 0) return null
  const percent = ((now - before) / Math.abs(before)) * 100
  if (Math.abs(percent) < 0.05) return '±0.0 %'
  if (percent >= 1_000) return `×${format({ maximumFractionDigits: 0 }).format(now / before)}`
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent).toFixed(1)} %`
}

const beforeText = ({ from, to, totalType }: Answer, until: number | null) => {
  if (totalType === 'last') return 'before'
  const days = Math.round(((until ?? to) - from) / 86_400)
  return days === 1 ? 'on the day before' : `in the ${days} days before`
}

/** A figure with its change in words. What time alone can still change has none: it would look like a fall. */
export function totalText(figure: ReportFigure, zone: string): string {
  const { answer } = figure
  const headline = headlineOf(answer)
  if (!headline) return answer.series.map(({ label, total }) => `${label} ${figureText(total, answer)}`).join(', ') || 'no series'
  const { now, before, until, isMoving } = headline
  const known = until === null ? '' : `, of what began until ${dayOf(until - 1, zone)}`
  const against = `${figureText(before, answer)} ${beforeText(answer, until)}`
  if (isMoving) return `${figureText(now, answer)} so far, still moving (${against})`
  const change = changeText(headline)
  const compared = change === null ? `nothing ${beforeText(answer, until)}` : `${change} against ${against}`
  return `${figureText(now, answer)}${known}, ${compared}`
}

/** A bucket by its start. */
export function bucketText(second: number, unit: Answer['unit'], zone: string): string {
  const at = DateTime.fromSeconds(second, { zone, locale: 'en-GB' })
  return unit === 'hour' ? at.toFormat('d LLL HH:mm ZZ') : unit === 'month' ? at.toFormat('LLL yyyy') : at.toFormat('ccc d LLL')
}

/** A month of days; the hours of a week would be a page of text. */
const MOST_BUCKETS = 31
const MOST_CHARACTERS = 1_500

/** What a picture shows, for those who do not see it. */
export function pictureText(figure: ReportFigure, zone: string): string {
  const { answer, title } = figure
  const points = (wholeOf(answer) ?? answer.series[0])?.data ?? []
  const values = points.map(
    ({ start_time, value, partial }) =>
      `${bucketText(start_time, answer.unit, zone)} ${figureText(value, answer)}${partial ? ' so far' : ''}`,
  )
  const numbers = values.length <= MOST_BUCKETS ? ` By ${answer.unit}: ${values.join('; ')}.` : ''
  const text = `${title}, ${windowText(answer, zone)}: ${totalText(figure, zone)}.${numbers}`
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text
}

/** Amounts that are in none of the figures, in words; null: there are none. */
export function unconvertedText({ answer }: ReportFigure): string | null {
  const left = answer.unconverted ?? []
  if (left.length === 0) return null
  const amounts = left.map(({ currency, amount }) => `${format({ maximumFractionDigits: 2 }).format(amount)} ${currency}`)
  return `Without ${amounts.join(', ')}, for which there is no rate.`
}
