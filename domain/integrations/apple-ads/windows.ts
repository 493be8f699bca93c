const WINDOW_CODES = ['d0', 'd3', 'd7', 'd14', 'd30', 'd60', 'd90', 'd180', 'd365', 'lifetime'] as const
export type WindowCode = (typeof WINDOW_CODES)[number]

export const DAY = 86_400
/** Days of the range since 1970-01-01: first <= day < end. */
export type Days = { first: number; end: number }

/** `days`: N of dN; null: lifetime. `closedThrough`: the last day of creation on which day N is over for everybody who was created on it. */
export type ReportWindow = { code: WindowCode; days: number | null; closedThrough: number }

/** Who was created in the last second of a day has day N behind him N + 2 days after the beginning of that day. */
export function windowsOf(codes: readonly WindowCode[], now: number): ReportWindow[] {
  return WINDOW_CODES.filter(code => codes.includes(code)).map(code => {
    if (code === 'lifetime') return { code, days: null, closedThrough: Number.POSITIVE_INFINITY }
    const days = Number(code.slice(1))
    return { code, days, closedThrough: Math.floor(now / DAY) - days - 2 }
  })
}

export const dateOf = (day: number): string => new Date(day * DAY * 1000).toISOString().slice(0, 10)
export const dayOfDate = (date: string): number => Date.parse(date) / DAY / 1000

/** SQL for how many of these numbers a value exceeds: rows with the same count lie on the same side of each of them. */
export const exceeded = (value: string, edges: readonly number[]): string =>
  edges.length === 0 ? '0' : `(${edges.map(edge => `case when ${value} > ${edge} then 1 else 0 end`).join(' + ')})`

/** The last days of the closed parts, ascending. A day that exceeds k of them is in the closed parts from the one of index k on. */
export const closingEdges = (windows: readonly ReportWindow[]): number[] =>
  [...new Set(windows.map(({ closedThrough }) => closedThrough).filter(Number.isFinite))].sort((a, b) => a - b)

/** The last seconds of the windows after the creation, ascending. */
export const ageEdges = (windows: readonly ReportWindow[]): number[] =>
  windows.flatMap(({ days }) => (days === null ? [] : (days + 1) * DAY - 1)).sort((a, b) => a - b)
