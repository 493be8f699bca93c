import { type Layout, MARGIN } from './layout.ts'
import { colourOf } from './palette.ts'

/** The bucket in focus: a line, or a band behind bars, and a dot on each series. Above the drawing, which is not drawn again for it. */
export function Cursor({ layout, at, series }: { layout: Layout; at: number; series: number | undefined }) {
  const { bars, height, width, shown, step, x, y } = layout
  const top = MARGIN.top
  const bottom = height - MARGIN.bottom
  return (
    <svg className="cursor" width={width} height={height} aria-hidden="true">
      {bars ? (
        <rect className="cursor-band" x={x(at) - step / 2} width={step} y={top} height={bottom - top} />
      ) : (
        <line className="cursor-line" x1={x(at)} x2={x(at)} y1={top} y2={bottom} />
      )}
      {shown.map(({ at: number, spans }, place) => {
        const span = spans[at]
        if (span === undefined || (bars && place !== series)) return null
        const aside = bars && !layout.stacked ? (place - (shown.length - 1) / 2) * layout.barWidth : 0
        return (
          <circle key={number} className={`dot s${colourOf(number)}`} cx={x(at) + aside} cy={y(span[1])} r={place === series ? 5 : 3.6} />
        )
      })}
    </svg>
  )
}
