import { CHART_ALIASES, CHARTS, type ChartMeasure, type ChartOf } from '../../domain/analytics/figures/chart-table.ts'

const MEASURES: Record<ChartMeasure, string> = { usd: 'money', count: 'a count', percent: 'percent' }
const TOTALS = {
  flow: 'the total is the sum over the window',
  stock: 'the total is the state at the end of the window',
  ratio: 'the total is the formula over the whole window',
}

function kindOf({ kind, measure, placed, segmented, summary, series, ofValues }: ChartOf): string {
  const by = placed.length === 0 ? '' : `, by ${placed.join(', ').replaceAll(';', ' and')}`
  const parts = [`A ${kind} (${MEASURES[measure]}${by})`, TOTALS[kind]]
  if (summary !== null) parts.push(`\`${summary}\` is the sum of the series`)
  if (ofValues !== null) parts.push(`segmented, each value shows \`${series[ofValues]}\`, and \`Total\` is their sum`)
  if (!segmented) parts.push('it cannot be segmented')
  return `${parts.join('; ')}.`
}

function sectionOf(chart: ChartOf): string {
  const aliases = Object.entries(CHART_ALIASES).flatMap(([alias, code]) => (code === chart.code ? [alias] : []))
  const names = [chart.code, ...aliases].map(name => `\`${name}\``).join(', also ')
  return [
    ...aliases.map(alias => `<a id="${alias}"></a>`),
    `### ${chart.title}`,
    `${names}. ${chart.description}`,
    `${kindOf(chart)}`,
    ['| series | formula |', '|---|---|', ...chart.series.map((label, i) => `| ${label} | \`${chart.symbols[i]}\` |`)].join('\n'),
  ].join('\n\n')
}

const BEGIN = '<!-- The charts: written by `npm run generate` from domain/analytics/figures/chart-table.ts. -->'
const END = '<!-- End of the charts. -->'

/** The page with the charts as the table of charts has them. */
export function withCharts(page: string): string {
  const [before, rest = ''] = page.split(BEGIN)
  const [, after] = rest.split(END)
  if (after === undefined) throw new Error('the page has no place for the charts')
  return [before, BEGIN, '\n\n', CHARTS.map(sectionOf).join('\n\n'), '\n\n', END, after].join('')
}
