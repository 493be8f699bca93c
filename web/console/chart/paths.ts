import type { Layout, Span } from './layout.ts'

const n = (value: number) => Math.round(value * 10) / 10

/** All bars of a series as one path: 366 × 7 of them are 14 elements instead of 2,562. */
export function barsOf(layout: Layout, spans: readonly (Span | undefined)[], place: number, from: number, to: number): string {
  const { x, y, stacked, steps, barWidth, shown } = layout
  const whole = stacked ? barWidth : barWidth * shown.length
  const gap = steps || stacked ? 0 : Math.min(1, barWidth / 4)
  let path = ''
  for (let bucket = from; bucket < to; bucket++) {
    const span = spans[bucket]
    if (span === undefined || span[0] === span[1]) continue
    const left = x(bucket) - whole / 2 + (stacked ? 0 : place * barWidth)
    const base = y(span[0])
    path += barOf(left, base, barWidth - gap, y(span[1]) - base, steps || stacked ? 0 : 2)
  }
  return path
}

/** A bar from its base, upwards when the height is negative, its far end rounded. */
function barOf(left: number, base: number, width: number, height: number, radius: number): string {
  const r = Math.min(radius, Math.abs(height), width / 2)
  const end = base + height
  const inward = height < 0 ? r : -r
  if (r < 0.5) return `M${n(left)} ${n(base)}V${n(end)}H${n(left + width)}V${n(base)}Z`
  return `M${n(left)} ${n(base)}V${n(end + inward)}Q${n(left)} ${n(end)} ${n(left + r)} ${n(end)}H${n(left + width - r)}Q${n(left + width)} ${n(end)} ${n(left + width)} ${n(end + inward)}V${n(base)}Z`
}

/** A line through the upper ends of a series; where there is no value, it is interrupted. */
export function lineOf(layout: Layout, spans: readonly (Span | undefined)[], from: number, to: number): string {
  let path = ''
  let drawing = false
  for (let bucket = from; bucket < to; bucket++) {
    const span = spans[bucket]
    if (span !== undefined) path += `${drawing ? 'L' : 'M'}${n(layout.x(bucket))} ${n(layout.y(span[1]))}`
    drawing = span !== undefined
  }
  return path
}

/** The area between the upper and the lower ends of a series, in pieces where values are missing. */
export function areaOf(layout: Layout, spans: readonly (Span | undefined)[], from: number, to: number): string {
  let path = ''
  let start = from
  for (let bucket = from; bucket <= to; bucket++) {
    if (bucket < to && spans[bucket] !== undefined) continue
    if (bucket - start > 1) {
      const piece = Array.from({ length: bucket - start }, (_, i) => start + i)
      const edge = (end: 0 | 1) => (i: number) => `${n(layout.x(i))} ${n(layout.y(spans[i]![end]))}`
      path += `M${piece.map(edge(1)).join('L')}L${piece.reverse().map(edge(0)).join('L')}Z`
    }
    start = bucket + 1
  }
  return path
}
