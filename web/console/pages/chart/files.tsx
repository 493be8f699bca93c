import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { Drawing } from '../../chart/drawing.tsx'
import { layoutOf } from '../../chart/layout.ts'
import { againOf, colourOf, PALETTE } from '../../chart/palette.ts'
import { bucketText } from '../../chart/picture.ts'
import { openFromOf, pictureOf } from '../../chart/picture-of.ts'
import { split } from '../../data/address.ts'
import { titleOfChart } from '../../data/charts.ts'
import { csv } from '../../parts/export-menu.tsx'
import { figure, moment } from '../../parts/format.ts'
import { rangeText } from '../../parts/range-pick.tsx'
import { t } from '../../parts/t.ts'
import { TOTALS } from './numbers.tsx'
import { kindOf, pointsOf, wholeOf } from './picture.ts'
import type { Question } from './question.ts'

const WIDTH = 1_200
const HEIGHT = 480
const HEAD = 76
const FOOT = 44
const FONT = "Inter, 'Helvetica Neue', Arial, sans-serif"

const seriesOf = (chart: AnalyticsChart) => {
  const whole = chart.summarySeries
  return whole && chart.series.length !== 1 ? [...chart.series, whole] : chart.series
}

/** The buckets with their exact values, and the total of each series at the end. */
export function csvOf(chart: AnalyticsChart, zone: string): Blob {
  const series = seriesOf(chart)
  return csv([
    ['start', 'end', 'zone', 'partial', ...series.map(({ label }) => label)],
    ...pointsOf(chart).map(({ start_time, end_time, partial }, at) => [
      new Date(start_time * 1000).toISOString(),
      new Date(end_time * 1000).toISOString(),
      zone,
      partial ? 'yes' : 'no',
      ...series.map(({ data }) => data[at]?.value),
    ]),
    ['total', '', zone, '', ...series.map(({ total }) => total)],
  ])
}

const escaped = (text: string) => text.replaceAll(/[\\|`*_<>[\]]/g, '\\$&').replaceAll('\n', ' ')

/** The table as text that chats and wikis show. */
export function markdownOf(chart: AnalyticsChart, { code, zone, unit, range }: Question): Blob {
  const series = seriesOf(chart)
  const shown = (value: number | undefined) => (value === undefined ? '–' : figure(value, chart.measure, chart.currency))
  const open = openFromOf(chart)
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const points = pointsOf(chart).map(({ start_time }) => start_time)
  const rows = points.map((start_time, at) =>
    line([
      `${bucketText(points, at, unit, zone, true)}${open !== null && start_time >= open ? ` (${t('still moving')})` : ''}`,
      ...series.map(({ data }) => shown(data[at]?.value)),
    ]),
  )
  const text = [
    `## ${escaped(titleOfChart(code))}`,
    '',
    `${rangeText(range, zone)}, ${zone}. ${t('Everything recorded before {time} counts.', { time: moment(chart.as_of, zone) })}`,
    '',
    line(['', ...series.map(({ label }) => escaped(label))]),
    line(['---', ...series.map(() => '---:')]),
    line([`**${t(TOTALS[chart.totalType])}**`, ...series.map(({ total }) => `**${shown(total)}**`)]),
    ...rows,
    '',
    `<${location.href.replaceAll('>', '%3E')}>`,
    '',
  ]
  return new Blob([text.join('\n')], { type: 'text/markdown' })
}

/** The drawing with its title, total and legend, in colours of its own: it is shown where no style sheet is. */
export function svgOf(chart: AnalyticsChart, question: Question): Blob {
  const holder = document.createElement('div')
  const root = createRoot(holder)
  flushSync(() => root.render(<Sheet chart={chart} question={question} />))
  const text = new XMLSerializer().serializeToString(holder.firstElementChild!)
  root.unmount()
  return new Blob([text], { type: 'image/svg+xml' })
}

function Sheet({ chart, question }: { chart: AnalyticsChart; question: Question }) {
  const picture = pictureOf(chart, {
    kind: kindOf(question.search.type, question.meta?.type_default),
    zone: question.zone,
    comparing: question.comparing,
    hidden: new Set(split(question.search.hide)),
  })
  const layout = layoutOf(picture, WIDTH, HEIGHT)
  const whole = wholeOf(chart)
  const total = whole ? figure(whole.total, chart.measure, chart.currency) : ''
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width={WIDTH}
      height={HEAD + HEIGHT + FOOT}
      viewBox={`0 0 ${WIDTH} ${HEAD + HEIGHT + FOOT}`}
      fontFamily={FONT}
    >
      <title>{titleOfChart(question.code)}</title>
      <rect width="100%" height="100%" fill={PALETTE.panel} />
      <text x={24} y={36} fontSize={20} fontWeight={600} fill={PALETTE.text}>
        {[titleOfChart(question.code), total].filter(Boolean).join(' · ')}
      </text>
      <text x={24} y={60} fontSize={13} fill={PALETTE.soft}>
        {`${rangeText(question.range, question.zone)} · ${question.zone} · ${t('as of {time}', { time: moment(chart.as_of, question.zone) })}`}
      </text>
      <g transform={`translate(0 ${HEAD})`}>
        <Drawing picture={picture} layout={layout} id="file" palette={PALETTE} />
      </g>
      <g transform={`translate(24 ${HEAD + HEIGHT + 24})`} fontSize={12} fill={PALETTE.soft}>
        {layout.shown.length > 1 &&
          layout.shown.map(({ line, at }, place) => {
            const x = (place * (WIDTH - 48)) / layout.shown.length
            return (
              <g key={line.label} transform={`translate(${x} 0)`}>
                <rect y={-9} width={10} height={10} rx={2} fill={PALETTE.series[colourOf(at)]} fillOpacity={againOf(at)} />
                <text x={15}>{line.label.length > 18 ? `${line.label.slice(0, 17)}…` : line.label}</text>
              </g>
            )
          })}
      </g>
    </svg>
  )
}

/** The same as pixels, two for one. */
export async function pngOf(chart: AnalyticsChart, question: Question): Promise<Blob> {
  const image = new Image()
  const address = URL.createObjectURL(svgOf(chart, question))
  try {
    image.src = address
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.naturalWidth * 2
    canvas.height = image.naturalHeight * 2
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height)
    const { promise, resolve, reject } = Promise.withResolvers<Blob>()
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error('The browser draws no PNG'))), 'image/png')
    return await promise
  } finally {
    URL.revokeObjectURL(address)
  }
}
