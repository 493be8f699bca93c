import { DateTime } from 'luxon'
import { guardedText } from '../../domain/reporting/exports/statement.ts'
import type { ReportFigure, ReportFigures } from '../../domain/reporting/reports/chart-figures.ts'

type Cell = string | number | null | undefined

/** A time on the clocks of the zone with its offset. */
const localIso = (second: number, zone: string): string =>
  DateTime.fromSeconds(second, { zone }).toISO({ suppressMilliseconds: true }) ?? ''

/** A cell as exports write it: a text that a spreadsheet may take for a formula gets a quote before it, where the report wants that. */
function cellOf(cell: Cell, isGuarded: boolean): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'number') return String(cell)
  const text = isGuarded ? guardedText(cell) : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** All series of a chart, and the whole of which they are parts. */
export const seriesOf = ({ answer: { series, summarySeries } }: ReportFigure) =>
  summarySeries && series.length !== 1 ? [...series, summarySeries] : series

/** What a chart's figures are in: its currency, percent, or nothing. */
const unitNameOf = ({ answer: { measure, currency } }: ReportFigure): string =>
  measure === 'usd' ? currency : measure === 'percent' ? '%' : ''

/** The table of a chart: its title, the names of the columns, a row for each bucket, the totals. */
function tableOf(figure: ReportFigure, { zone, asOf }: ReportFigures): { lines: Cell[][]; rows: number } {
  const series = seriesOf(figure)
  const points = series[0]?.data ?? []
  const before = series[0]?.dataPrev ?? []
  const rows = points.map(({ start_time, end_time, partial }, at): Cell[] => [
    localIso(start_time, zone),
    localIso(end_time, zone),
    partial ? 'yes' : 'no',
    ...series.map(({ data }) => data[at]?.value),
    before[at] ? localIso(before[at].start_time, zone) : null,
    ...series.map(({ dataPrev }) => dataPrev?.[at]?.value),
  ])
  return {
    rows: rows.length,
    lines: [
      [figure.title, unitNameOf(figure), zone, `as of ${localIso(asOf, zone)}`, ...figure.filters],
      [
        'Start',
        'End',
        'Partial',
        ...series.map(({ label }) => label),
        'Previous start',
        ...series.map(({ label }) => `${label} (previous)`),
      ],
      ...rows,
      ['Total', null, null, ...series.map(({ total }) => total), null, ...series.map(({ totalPrev }) => totalPrev)],
    ],
  }
}

/** The figures as CSV, one table after the other with an empty line between them. `rows`: buckets of all tables. */
export function csvOfFigures(figures: ReportFigures, isGuarded: boolean): { text: string; rows: number } {
  const tables = figures.figures.map(figure => tableOf(figure, figures))
  const text = tables.map(({ lines }) => lines.map(line => `${line.map(cell => cellOf(cell, isGuarded)).join(',')}\n`).join('')).join('\n')
  return { text, rows: tables.reduce((sum, { rows }) => sum + rows, 0) }
}
