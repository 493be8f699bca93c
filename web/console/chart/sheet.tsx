import { Drawing } from './drawing.tsx'
import { layoutOf } from './layout.ts'
import { againOf, colourOf, PALETTE } from './palette.ts'
import type { Picture } from './picture.ts'

const HEAD = 76
const FOOT = 44
/** Below a drawing without legend. */
const END = 12
const EDGE = 24
const FONT = "'Inter Variable', Inter, 'Helvetica Neue', Arial, sans-serif"
/** Pixels that a name of a legend may need, at least. */
const NAMED = 150

type Props = {
  picture: Picture
  /** What is shown, and its total. */
  title: string
  /** When and where it counts. */
  about: string
  /** Tells the patterns of several pictures of a page apart. */
  id?: string
  width?: number
  height?: number
}

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

/** A drawing with its title, total and legend, in colours of its own: it is shown where no style sheet is. */
export function Sheet({ picture, title, about, id = 'file', width = 1_200, height = 480 }: Props) {
  const layout = layoutOf(picture, width, height)
  const legend = layout.shown.length > 1 ? layout.shown : []
  const columns = Math.max(1, Math.min(legend.length, Math.floor((width - 2 * EDGE) / NAMED)))
  const each = (width - 2 * EDGE) / columns
  const whole = HEAD + height + (legend.length > 0 ? FOOT + 18 * (Math.ceil(legend.length / columns) - 1) : END)
  return (
    <svg xmlns="http://www.w3.org/2000/svg" width={width} height={whole} viewBox={`0 0 ${width} ${whole}`} fontFamily={FONT}>
      <title>{title}</title>
      <rect width="100%" height="100%" fill={PALETTE.panel} />
      <text x={EDGE} y={36} fontSize={20} fontWeight={600} fill={PALETTE.text}>
        {cut(title, Math.floor((width - 2 * EDGE) / 10))}
      </text>
      <text x={EDGE} y={60} fontSize={13} fill={PALETTE.soft}>
        {cut(about, Math.floor((width - 2 * EDGE) / 6.5))}
      </text>
      <g transform={`translate(0 ${HEAD})`}>
        <Drawing picture={picture} layout={layout} id={id} palette={PALETTE} />
      </g>
      <g transform={`translate(${EDGE} ${HEAD + height + 24})`} fontSize={12} fill={PALETTE.soft}>
        {legend.map(({ line, at }, place) => (
          <g key={line.label} transform={`translate(${(place % columns) * each} ${18 * Math.floor(place / columns)})`}>
            <rect y={-9} width={10} height={10} rx={2} fill={PALETTE.series[colourOf(at)]} fillOpacity={againOf(at)} />
            <text x={15}>{cut(line.label, Math.floor(each / 7.5))}</text>
          </g>
        ))}
      </g>
    </svg>
  )
}
