import { scaleBand, scaleLinear, scalePoint } from '@visx/scale'
import { type Line, openAt, type Picture, shownOf } from './picture.ts'

export const MARGIN = { left: 54, right: 14, top: 22, bottom: 24 }
const WIDEST_BAR = 42
/** Narrower bars have no room for gaps: they become steps. */
const NARROWEST_BAR = 3
const TICK_WIDTH = 76

/** From where to where a value is drawn, in the units of the chart; stacked ones begin where those below them end. */
export type Span = readonly [from: number, to: number]

export type Layout = {
  width: number
  height: number
  bars: boolean
  stacked: boolean
  shown: { line: Line; at: number; spans: (Span | undefined)[] }[]
  /** The previous period, when it is drawn. */
  previous: readonly (number | null)[] | undefined
  /** The middle of a bucket. */
  x: (bucket: number) => number
  y: (value: number) => number
  yScale: ReturnType<typeof scaleLinear<number>>
  /** The values at lines across. There is no half of a person. */
  levels: number[]
  xScale: ReturnType<typeof scaleBand<number>> | ReturnType<typeof scalePoint<number>>
  /** From the middle of one bucket to that of the next. */
  step: number
  barWidth: number
  steps: boolean
  /** The first bucket that is not complete. */
  open: number
  ticks: number[]
  bucketAt: (x: number) => number | undefined
}

/** Where everything of a picture stands in so many pixels. */
export function layoutOf(picture: Picture, width: number, height: number): Layout {
  const { starts, kind } = picture
  const chosen = shownOf(picture)
  const bars = kind === 'column'
  const stacked = picture.stacked && kind !== 'line' && chosen.length > 1
  const shown = withSpans(chosen, starts.length, stacked)
  const previous = picture.comparing ? previousOf(picture, chosen, stacked) : undefined
  const buckets = [...starts.keys()]
  const left = MARGIN.left
  const right = Math.max(left + 1, width - MARGIN.right)
  const yScale = scaleLinear({
    domain: domainOf(shown, previous, picture.level?.value),
    range: [height - MARGIN.bottom, MARGIN.top],
    nice: 4,
  })
  const band = scaleBand({ domain: buckets, range: [left, right], padding: 0.28 })
  const point = scalePoint({ domain: buckets, range: [left + 6, right - 6] })
  const count = starts.length
  const step = bars ? band.step() : point.step()
  const x = (bucket: number) => (bars ? band(bucket)! + band.bandwidth() / 2 : point(bucket)!)
  const inner = Math.min(WIDEST_BAR, band.bandwidth()) / (stacked ? 1 : Math.max(1, chosen.length))
  const steps = bars && inner < NARROWEST_BAR
  const each = Math.max(1, Math.ceil(count / Math.max(2, Math.floor((right - left) / TICK_WIDTH))))
  return {
    width,
    height,
    bars,
    stacked,
    shown,
    previous,
    x,
    y: value => yScale(value),
    yScale,
    levels: yScale.ticks(4).filter(value => picture.measure !== 'count' || Number.isInteger(value)),
    xScale: bars ? band : point,
    step,
    barWidth: steps ? step : inner,
    steps,
    open: openAt(picture),
    ticks: buckets.filter(bucket => bucket % each === 0),
    bucketAt: at => (count === 0 || at < left - 10 || at > right + 10 ? undefined : nearest(at, x, step, count)),
  }
}

/** Of one series its own; of a whole, when nothing of it is hidden, that of the whole. */
function previousOf({ lines, before }: Picture, chosen: { line: Line }[], stacked: boolean): readonly (number | null)[] | undefined {
  if (chosen.length === 1) return chosen[0]!.line.previous
  return stacked && chosen.length === lines.length ? before : undefined
}

function nearest(at: number, x: (bucket: number) => number, step: number, count: number): number {
  const bucket = step > 0 ? Math.round((at - x(0)) / step) : 0
  return Math.min(count - 1, Math.max(0, bucket))
}

/** Values that stand on each other: what is above zero upwards, what is below it downwards. */
function withSpans(chosen: { line: Line; at: number }[], count: number, stacked: boolean): Layout['shown'] {
  const up = new Array<number>(count).fill(0)
  const down = new Array<number>(count).fill(0)
  return chosen.map(({ line, at }) => ({
    line,
    at,
    spans: Array.from({ length: count }, (_, bucket): Span | undefined => {
      const value = line.values[bucket]
      if (value === null || value === undefined) return undefined
      if (!stacked) return [0, value]
      const side = value >= 0 ? up : down
      const from = side[bucket]!
      side[bucket] = from + value
      return [from, from + value]
    }),
  }))
}

/** From zero, or below it, to the greatest value. */
function domainOf(shown: Layout['shown'], previous: readonly (number | null)[] | undefined, level: number | undefined): [number, number] {
  let low = 0
  let high = 0
  const include = (value: number | null | undefined) => {
    if (value === null || value === undefined) return
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  for (const { spans } of shown) for (const span of spans) include(span?.[1])
  for (const value of previous ?? []) include(value)
  include(level)
  return low === 0 && high === 0 ? [0, 1] : [low, high]
}
