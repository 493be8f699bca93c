// Built for a process without a browser: reports draw their charts as the pages do, in colours that need no style sheet.
import { renderToStaticMarkup } from 'react-dom/server'
import type { AnalyticsChart } from '../../clients/typescript/src/index.ts'
import { Drawing } from './chart/drawing.tsx'
import { layoutOf } from './chart/layout.ts'
import { PALETTE } from './chart/palette.ts'
import type { Picture } from './chart/picture.ts'
import { pictureOf } from './chart/picture-of.ts'
import { Sheet } from './chart/sheet.tsx'
import { dateFormat, figure } from './parts/format.ts'

/** `id`: tells the patterns of several pictures of a page apart. */
type Look = { zone: string; id: string }

/** As the pages draw a chart unless they are told otherwise: sums as bars, states as areas, shares as lines. */
const KINDS: Record<string, Picture['kind']> = { sum: 'column', last: 'area' }

/** For a page of text beside it, and for a mail on a telephone. */
const IN_PAGE = [900, 320] as const
const IN_MAIL = { width: 760, height: 320 }

function drawn(chart: AnalyticsChart, zone: string): Picture {
  return pictureOf(chart, { kind: KINDS[chart.totalType] ?? 'line', zone, comparing: true })
}

const dayOf = (second: number, zone: string) =>
  dateFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short', year: 'numeric' }).format(second * 1000)

/** A chart without words, for a page that has them beside it. */
export function svgOf(chart: AnalyticsChart, { zone, id }: Look): string {
  const picture = drawn(chart, zone)
  return renderToStaticMarkup(<Drawing picture={picture} layout={layoutOf(picture, ...IN_PAGE)} id={id} palette={PALETTE} />)
}

/** A chart with its title, its total and its days, which stands by itself. */
export function sheetOf(chart: AnalyticsChart, { zone, title }: Look & { title: string }): string {
  const whole = chart.summarySeries ?? (chart.series.length === 1 ? chart.series[0] : undefined)
  const complete = chart.complete ?? whole?.complete
  const known = complete && complete.to > chart.from ? complete : whole
  const total = known && figure(known.total, chart.measure, chart.currency)
  const [from, to] = [dayOf(chart.from, zone), dayOf(chart.to - 1, zone)]
  const about = `${from === to ? from : `${from} – ${to}`} · ${zone}`
  return renderToStaticMarkup(
    <Sheet picture={drawn(chart, zone)} title={[title, total].filter(Boolean).join(' · ')} about={about} {...IN_MAIL} />,
  )
}
