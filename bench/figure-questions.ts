import { CHART_NAMES } from '../domain/analytics/figures/chart-table.ts'

const DAY = 86_400
/** An odd second: no bucket is a day of the calendar. */
const ODD = 12_345
const WINDOW_DAYS = 90

type NamedQuestion = { name: string; path: string }

/** The parameters of 90 days by day before `end`, with the 90 days before them. */
export const windowOf = (end: number): string => {
  const from = end - (WINDOW_DAYS + 1) * DAY + ODD
  return `from=${from}&to=${from + WINDOW_DAYS * DAY}`
}

/** Questions of every kind: each chart, one chart with each attribute and zone, series, sets of users, cohorts and lifetime value. */
export function figureQuestions(end: number): NamedQuestion[] {
  const window = windowOf(end)
  const chart = (code: string, more = '', name = ''): NamedQuestion => ({
    name: name || code,
    path: `/v4/analytics/charts/${code}?${window}${more}`,
  })
  const filter = (attribute: string, value: string) => `&filter[${attribute}][]=${encodeURIComponent(value)}`
  const year = `cohort_from=${end - 360 * DAY}`
  return [
    ...CHART_NAMES.map(code => chart(code)),
    ...[
      ['country', 'AA'],
      ['target_platform', 'iOS'],
      ['purchase_currency', 'EUR'],
      ['app_version', '2.1'],
      ['locale', 'locale-7'],
      ['media_source_name', 'Media source 3'],
      ['campaign_name', 'Campaign 42'],
    ].map(([attribute, value]) => chart('sales', filter(attribute!, value!), `sales, one ${attribute}`)),
    chart(
      'sales',
      filter('country', 'AA') + filter('target_platform', 'iOS') + filter('media_source_name', 'Media source 3'),
      'sales, 3 filters',
    ),
    chart('sales', '&timezone=America/New_York', 'sales, zone'),
    chart('sales', '&segmentation=country', 'sales by country'),
    chart('sales', '&segmentation=campaign_name', 'sales by campaign'),
    chart('mrr', '&segmentation=target_platform', 'mrr by store'),
    chart('mrr-movement', '&segmentation=country', 'mrr-movement by country'),
    chart('sales', filter('segment_id', 'paying_users'), 'sales, segment'),
    { name: 'cohorts by renewals', path: `/v4/analytics/cohorts?grouping=month&${year}` },
    { name: 'cohorts by days', path: `/v4/analytics/cohorts?grouping=month&mode=by_days&${year}` },
    { name: 'ltv', path: `/v4/analytics/ltv?${year}` },
  ]
}
