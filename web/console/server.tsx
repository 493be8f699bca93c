// Built for a process without a browser: reports draw their charts as the pages do, in colours that need no style sheet.
import { renderToStaticMarkup } from 'react-dom/server'
import type { AnalyticsChart } from '../../clients/typescript/src/index.ts'
import { type Picture, USUAL_KIND } from './chart/picture.ts'
import { pictureOf } from './chart/picture-of.ts'
import { Sheet } from './chart/sheet.tsx'
import { dateFormat, figure } from './parts/format.ts'

/** `id`: tells the patterns of several pictures of a page apart. */
type Look = { zone: string; id: string; title: string; size: 'page' | 'mail' }

/** `page`: beside a table; `mail`: so that it can be read on a telephone. */
const SIZES = { page: { width: 900, height: 320 }, mail: { width: 600, height: 280 } }

function drawn(chart: AnalyticsChart, zone: string): Picture {
  return pictureOf(chart, { kind: USUAL_KIND[chart.totalType], zone, comparing: true })
}

const dayOf = (second: number, zone: string) =>
  dateFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short', year: 'numeric' }).format(second * 1000)

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what no XML may have
const NO_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** A chart with its title, its total, its days and a legend, which stands by itself. */
export function sheetOf(chart: AnalyticsChart, { zone, id, title, size }: Look): string {
  const whole = chart.summarySeries ?? (chart.series.length === 1 ? chart.series[0] : undefined)
  const complete = chart.complete ?? whole?.complete
  const known = complete && complete.to > chart.from ? complete : whole
  const total = known && figure(known.total, chart.measure, chart.currency)
  const [from, to] = [dayOf(chart.from, zone), dayOf(chart.to - 1, zone)]
  const about = `${from === to ? from : `${from} – ${to}`} · ${zone}`
  const svg = renderToStaticMarkup(
    <Sheet picture={drawn(chart, zone)} title={[title, total].filter(Boolean).join(' · ')} about={about} id={id} {...SIZES[size]} />,
  )
  // Names are what apps have sent.
  return svg.toWellFormed().replaceAll(NO_XML, '')
}
