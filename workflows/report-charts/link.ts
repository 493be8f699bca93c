import type { ReportFigure } from '../../domain/reporting/reports/chart-figures.ts'

/** Where a report's figures are seen in the console. `kind`: of the environment. */
export type Place = { publicUrl: string; project: string; kind: 'production' | 'sandbox' }

/** Several values as one text of the console's addresses. */
const joined = (values: unknown) =>
  [values]
    .flat()
    .map(value => String(value).replaceAll('%', '%25').replaceAll(',', '%2C'))
    .join(',')

/** The address of a chart in the console, with the same window, zone and question. */
export function consoleLink({ answer, query }: Pick<ReportFigure, 'answer' | 'query'>, zone: string, { publicUrl, project, kind }: Place) {
  const search = new URLSearchParams({ p: project })
  if (kind === 'sandbox') search.set('env', 'sandbox')
  search.set('from', String(answer.from))
  search.set('to', String(answer.to))
  search.set('unit', answer.unit)
  search.set('tz', zone)
  if (answer.currency !== 'USD') search.set('currency', answer.currency)
  if (answer.segmentation) search.set('split', answer.segmentation)
  for (const [name, values] of Object.entries(query)) {
    const code = /^filter\[(.*)\]\[\]$/.exec(name)?.[1]
    if (code !== undefined) search.set(`f.${code}`, joined(values))
  }
  return `${publicUrl}/console/charts/${encodeURIComponent(answer.code)}?${search}`
}
