import { setImmediate } from 'node:timers/promises'
import { type ChartDrawing, NO_PICTURES } from '../../domain/reporting/reports/chart-drawing.ts'
import type { ChartsOfRun, ReportFigure, ReportFigures } from '../../domain/reporting/reports/chart-figures.ts'
import { seriesOf } from './csv.ts'
import { escaped } from './html.ts'
import { consoleLink, type Place } from './link.ts'
import { bucketText, figureText, limitTexts, momentText, pictureText, totalText, windowText } from './words.ts'

/** The looks of a page that has no other file: light or dark as its reader wishes, the pictures light on their own ground. */
const STYLE = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.5rem 0 .25rem}p{margin:.25rem 0}.soft{opacity:.75}
.picture{background:#fff;border-radius:6px;margin:.75rem 0}.picture svg{max-width:100%;height:auto;display:block}
.table{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #8884}
th:first-child,td:first-child{text-align:left;white-space:nowrap}th{font-weight:600}`

function table(figure: ReportFigure, zone: string): string {
  const { answer } = figure
  const series = seriesOf(figure)
  const points = series[0]?.data ?? []
  const row = (of: string, cells: readonly string[], cell = 'td') =>
    `<tr><th scope="row">${escaped(of)}</th>${cells.map(text => `<${cell}>${escaped(text)}</${cell}>`).join('')}</tr>`
  const figuresOf = (at: number) => series.map(({ data }) => (data[at] ? figureText(data[at].value, answer) : '–'))
  return `<div class="table" tabindex="0" role="region" aria-label="${escaped(figure.title)}"><table>
<thead>${row(
    '',
    series.map(({ label }) => label),
    'th',
  )}</thead>
<tbody>${row(
    'Total',
    series.map(({ total }) => figureText(total, answer)),
  )}${row(
    'Before',
    series.map(({ totalPrev }) => figureText(totalPrev, answer)),
  )}
${points.map(({ start_time, partial }, at) => row(`${bucketText(start_time, answer.unit, zone)}${partial ? ' (so far)' : ''}`, figuresOf(at))).join('\n')}</tbody></table></div>`
}

function section(figure: ReportFigure, zone: string, picture: string | null, place: Place): string {
  return `<section><h2>${escaped(figure.title)}</h2>
<p>${escaped(totalText(figure, zone))}</p>
${limitTexts(figure)
  .map(text => `<p class="soft">${escaped(text)}</p>`)
  .join('')}
${picture === null ? '' : `<div class="picture" role="img" aria-label="${escaped(pictureText(figure, zone))}">${picture}</div>`}
${table(figure, zone)}
<p><a href="${escaped(consoleLink(figure, zone, place))}">Open in the console</a></p></section>`
}

type PageDeps = { drawing: ChartDrawing; publicUrl: string }

/** The figures as one static page: words, pictures where they can be drawn, and all numbers as tables. `rows`: buckets of all tables. */
export async function pageOfFigures(
  { name, project, kind }: ChartsOfRun,
  { figures, zone, asOf }: ReportFigures,
  { drawing, publicUrl }: PageDeps,
): Promise<{ text: string; rows: number }> {
  const pictures: (string | null)[] = []
  for (const [at, figure] of figures.entries()) {
    pictures.push(await drawing.svg({ figure, zone, id: `chart-${at}` }))
    await setImmediate()
  }
  const place = { publicUrl, project, kind }
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><meta name="referrer" content="no-referrer">
<title>${escaped(name)}</title><style>${STYLE}</style></head><body>
<h1>${escaped(name)}</h1>
<p>${escaped(windowText(figures[0]!.answer, zone))} <span class="soft">(${escaped(zone)})</span>, against the same time before</p>
<p class="soft">Everything recorded before ${escaped(momentText(asOf, zone))} counts.</p>
${pictures.includes(null) ? `<p class="soft">${escaped(NO_PICTURES)}</p>` : ''}
${figures.map((figure, at) => section(figure, zone, pictures[at]!, place)).join('\n')}
</body></html>
`
  return { text, rows: figures.reduce((sum, figure) => sum + (seriesOf(figure)[0]?.data.length ?? 0), 0) }
}
