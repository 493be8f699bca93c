import { AxisBottom, AxisLeft, type TickRendererProps } from '@visx/axis'
import { GridRows } from '@visx/grid'
import { PatternLines } from '@visx/pattern'
import type { scaleBand } from '@visx/scale'
import { memo } from 'react'
import { axisFigure } from '../parts/format.ts'
import { type Layout, MARGIN } from './layout.ts'
import { notedBuckets, noteLabels } from './note-labels.ts'
import { againOf, colourOf, dashOf, type Palette } from './palette.ts'
import { areaOf, barsOf, lineOf } from './paths.ts'
import { bucketOf, type Picture } from './picture.ts'

type Props = {
  picture: Picture
  layout: Layout
  /** Tells the patterns of several charts on a page apart. */
  id: string
  /** Colours as attributes, where no style sheet is. */
  palette?: Palette
}

const TEXT = { fontSize: 11, fontFamily: 'inherit' } as const

/** A chart as SVG, a function of its input alone: the same on a page and on a server. Readers get the table beside it instead. */
export const Drawing = memo(function Drawing({ picture, layout, id, palette }: Props) {
  const { width, height, shown, yScale, xScale } = layout
  const soft = palette ? { fill: palette.soft } : { fill: '' }
  return (
    <svg
      className="drawing"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      aria-hidden="true"
      xmlns="http://www.w3.org/2000/svg"
    >
      <defs>
        {shown.map(({ at }) => (
          <PatternLines
            key={at}
            id={`${id}-${at}`}
            width={6}
            height={6}
            orientation={['diagonal']}
            strokeWidth={2.4}
            className={`hatch s${colourOf(at)}`}
            stroke={palette?.series[colourOf(at)] ?? ''}
          />
        ))}
      </defs>
      <GridRows
        scale={yScale}
        left={MARGIN.left}
        width={Math.max(0, width - MARGIN.left - MARGIN.right)}
        tickValues={layout.levels}
        className="rows"
        stroke={palette?.line ?? ''}
      />
      {yScale.domain()[0]! < 0 && (
        <g className="axis">
          <line
            x1={MARGIN.left}
            x2={width - MARGIN.right}
            y1={layout.y(0)}
            y2={layout.y(0)}
            {...(palette && { stroke: palette.axis, strokeWidth: 1.4 })}
          />
        </g>
      )}
      <Notes picture={picture} layout={layout} palette={palette} />
      {shown.map((_, place) => (
        <Series key={shown[place]!.at} layout={layout} place={place} kind={picture.kind} id={id} palette={palette} />
      ))}
      {layout.previous && <Previous layout={layout} values={layout.previous} palette={palette} />}
      {picture.level && <Level layout={layout} level={picture.level} palette={palette} />}
      <AxisLeft
        scale={yScale}
        left={MARGIN.left}
        tickValues={layout.levels}
        hideAxisLine
        hideTicks
        tickFormat={value => axisFigure(Number(value), picture.measure, picture.currency)}
        tickClassName="tick"
        tickComponent={tickText}
        tickLabelProps={{ ...TEXT, ...soft, textAnchor: 'end', dx: -4, dy: 4 }}
      />
      <AxisBottom
        scale={xScale as ReturnType<typeof scaleBand<number>>}
        top={height - MARGIN.bottom}
        hideTicks
        axisClassName="axis"
        stroke={palette?.axis ?? ''}
        tickValues={layout.ticks}
        tickFormat={at => bucketOf(picture, Number(at))}
        tickClassName="tick"
        tickComponent={tickText}
        tickLabelProps={(at: unknown) => ({ ...TEXT, ...soft, ...endsOf(layout, Number(at)), dy: 2 })}
      />
    </svg>
  )
})

/** One line. The library's own text measures its words, for which the browser lays out the page while it is being drawn. */
const tickText = ({ formattedValue, ...props }: TickRendererProps) => <text {...props}>{formattedValue}</text>

/** The last label of lines ends at the edge instead of reaching over it. */
function endsOf({ x, width }: Layout, at: number) {
  if (x(at) > width - 40) return { textAnchor: 'end' as const, dx: width - x(at) - 4 }
  return { textAnchor: 'middle' as const, dx: 0 }
}

function Series({
  layout,
  place,
  kind,
  id,
  palette,
}: {
  layout: Layout
  place: number
  kind: Picture['kind']
  id: string
  palette: Palette | undefined
}) {
  const { at, spans } = layout.shown[place]!
  const { open, shown, stacked } = layout
  // A part that is always nothing would draw its line over the one below it.
  if (stacked && spans.every(span => span === undefined || span[0] === span[1])) return null
  const end = spans.length
  const ink = palette?.series[colourOf(at)]
  const name = `series s${colourOf(at)}`
  if (layout.bars) {
    const complete = barsOf(layout, spans, place, 0, open)
    const still = barsOf(layout, spans, place, open, end)
    return (
      <g className={name}>
        {complete && <path className="bars-done" d={complete} fillOpacity={againOf(at)} {...(ink && { fill: ink })} />}
        {still && <path className="bars-open" d={still} fill={`url(#${id}-${at})`} {...(ink && { stroke: ink })} />}
      </g>
    )
  }
  const filled = kind === 'area' || shown.length === 1
  const stroke = { fill: 'none', strokeWidth: 2, strokeLinejoin: 'round' as const, ...(ink && { stroke: ink }) }
  const area = filled ? areaOf(layout, spans, 0, open) : ''
  const still = open < end ? lineOf(layout, spans, Math.max(0, open - 1), end) : ''
  return (
    <g className={name}>
      {area && <path className="area" d={area} opacity={(stacked ? 0.35 : 0.1) * (againOf(at) ?? 1)} {...(ink && { fill: ink })} />}
      <path
        className="stroke"
        d={lineOf(layout, spans, 0, open)}
        strokeDasharray={shown.length > 1 && !stacked ? dashOf(at) : undefined}
        {...stroke}
      />
      {still && <path className="stroke" d={still} strokeDasharray="2 4" {...stroke} />}
      {alone(spans).map(bucketAt => (
        <circle key={bucketAt} cx={layout.x(bucketAt)} cy={layout.y(spans[bucketAt]![1])} r={2.5} {...(ink && { fill: ink })} />
      ))}
    </g>
  )
}

/** Values without a neighbour, of which no line could be seen. */
const alone = (spans: Layout['shown'][number]['spans']): number[] =>
  spans.flatMap((span, at) => (span !== undefined && spans[at - 1] === undefined && spans[at + 1] === undefined ? [at] : []))

function Previous({ layout, values, palette }: { layout: Layout; values: readonly (number | null)[]; palette: Palette | undefined }) {
  const spans = layout.shown[0]!.spans.map((_, at) => {
    const value = values[at]
    return value === null || value === undefined ? undefined : ([0, value] as const)
  })
  return (
    <path
      className="previous"
      d={lineOf(layout, spans, 0, spans.length)}
      fill="none"
      strokeWidth={1.4}
      strokeDasharray="4 4"
      {...(palette && { stroke: palette.previous })}
    />
  )
}

/** A value to reach: a line across, with its name at the right. */
function Level({ layout, level, palette }: { layout: Layout; level: NonNullable<Picture['level']>; palette: Palette | undefined }) {
  const y = layout.y(level.value)
  return (
    <g className="level">
      <line
        x1={MARGIN.left}
        x2={layout.width - MARGIN.right}
        y1={y}
        y2={y}
        strokeWidth={1.4}
        strokeDasharray="8 4"
        {...(palette && { stroke: palette.text })}
      />
      <text x={MARGIN.left + 6} y={y - 6} fontSize={11} fontWeight={600} {...(palette && { fill: palette.text })}>
        {level.label}
      </text>
    </g>
  )
}

/** Letters above the buckets in which something happened. */
function Notes({ picture, layout, palette }: { picture: Picture; layout: Layout; palette: Palette | undefined }) {
  const buckets = notedBuckets(picture.notes ?? [], picture.starts)
  return (
    <g className="note">
      {[...buckets.keys()].map(at => (
        <line
          key={at}
          x1={layout.x(at)}
          x2={layout.x(at)}
          y1={MARGIN.top}
          y2={layout.height - MARGIN.bottom}
          {...(palette && { stroke: palette.axis })}
        />
      ))}
      {noteLabels(buckets, layout.x).map(({ x, text }) => (
        <text
          key={text}
          x={x}
          y={MARGIN.top - 7}
          textAnchor="middle"
          fontSize={10.5}
          fontWeight={650}
          {...(palette && { fill: palette.soft })}
        >
          {text}
        </text>
      ))}
    </g>
  )
}
