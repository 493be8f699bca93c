import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { bucketText } from '../../chart/picture.ts'
import { openFromOf, pictureOf } from '../../chart/picture-of.ts'
import { Sheet } from '../../chart/sheet.tsx'
import { split } from '../../data/address.ts'
import { titleOfChart } from '../../data/charts.ts'
import { csv } from '../../parts/export-menu.tsx'
import { figure, moment } from '../../parts/format.ts'
import { rangeText } from '../../parts/range-pick.tsx'
import { t } from '../../parts/t.ts'
import { TOTALS } from './numbers.tsx'
import { kindOf, pointsOf, wholeOf } from './picture.ts'
import type { Question } from './question.ts'

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
  flushSync(() => root.render(<QuestionSheet chart={chart} question={question} />))
  const text = new XMLSerializer().serializeToString(holder.firstElementChild!)
  root.unmount()
  return new Blob([text], { type: 'image/svg+xml' })
}

function QuestionSheet({ chart, question }: { chart: AnalyticsChart; question: Question }) {
  const picture = pictureOf(chart, {
    kind: kindOf(question.search.type, chart),
    zone: question.zone,
    comparing: question.comparing,
    hidden: new Set(split(question.search.hide)),
  })
  const whole = wholeOf(chart)
  const total = whole ? figure(whole.total, chart.measure, chart.currency) : ''
  return (
    <Sheet
      picture={picture}
      title={[titleOfChart(question.code), total].filter(Boolean).join(' · ')}
      about={`${rangeText(question.range, question.zone)} · ${question.zone} · ${t('as of {time}', { time: moment(chart.as_of, question.zone) })}`}
    />
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
