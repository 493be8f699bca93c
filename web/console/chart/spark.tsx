const WIDTH = 220
const HEIGHT = 44
const EDGE = 3

type Props = {
  values: readonly number[]
  previous?: readonly number[] | undefined
  /** The first value that is not complete: dashed from there. */
  open?: number
  /** A level, such as MRR: its line need not begin at zero. */
  level?: boolean
}

/** A line without axes, on a tile: it says how, the figure above it says how much. */
export function Spark({ values, previous = [], open = values.length, level = false }: Props) {
  if (values.length < 2) return <svg className="spark" width="100%" height={HEIGHT} aria-hidden="true" />
  const before = previous.slice(0, values.length)
  const all = [...values, ...before]
  const low = Math.min(...all)
  const high = Math.max(...all, low + 1e-9)
  const base = level ? low - (high - low) * 0.25 : Math.min(0, low)
  const last = values.length - 1
  const x = (at: number) => Math.round((at / last) * WIDTH * 10) / 10
  const y = (value: number) => Math.round((HEIGHT - EDGE - ((value - base) / (high - base || 1)) * (HEIGHT - 2 * EDGE)) * 10) / 10
  const line = (of: readonly number[], from: number, to: number) =>
    of
      .slice(from, to + 1)
      .map((value, i) => `${i === 0 ? 'M' : 'L'}${x(from + i)} ${y(value)}`)
      .join('')
  const complete = Math.min(last, Math.max(0, open - 1))
  return (
    <svg className="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" height={HEIGHT} preserveAspectRatio="none" aria-hidden="true">
      {complete > 0 && <path className="spark-area" d={`${line(values, 0, complete)}L${x(complete)} ${HEIGHT}L0 ${HEIGHT}Z`} />}
      {before.length > 1 && <path className="spark-previous" d={line(before, 0, before.length - 1)} />}
      {complete > 0 && <path className="spark-line" d={line(values, 0, complete)} />}
      {complete < last && <path className="spark-line open" d={line(values, complete, last)} />}
    </svg>
  )
}
