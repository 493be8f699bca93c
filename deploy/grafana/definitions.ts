/** A panel: `unit` as Grafana names it; `width` of 24. Each expression with its legend. */
export type Panel = {
  title: string
  description?: string
  kind?: 'stat' | 'timeseries'
  unit?: 'short' | 's' | 'reqps' | 'bytes' | 'percentunit' | 'ops'
  width?: 6 | 8 | 12 | 24
  /** From this value on it is red. */
  red?: number
  lines: readonly (readonly [expression: string, legend: string])[]
}
export type Dashboard = { uid: string; title: string; description: string; panels: readonly Panel[] }

/** Figures of the installation are the same on every process. */
const installation = (metric: string, by?: string) => (by ? `max by (${by}) (${metric})` : `max(${metric})`)
/** What a process counts of itself. */
const perSecond = (metric: string, by?: string) =>
  by ? `sum by (${by}) (rate(${metric}[$__rate_interval]))` : `sum(rate(${metric}[$__rate_interval]))`
const quantile = (q: number, metric: string, by = 'le', of = '') =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${metric}_bucket${of}[$__rate_interval])))`
const none = { kind: 'stat', width: 6, red: 1 } as const

export const DASHBOARDS: readonly Dashboard[] = [
  {
    uid: 'perennial-service',
    title: 'Perennial: service',
    description: 'Requests, their durations, and the processes that answer them.',
    panels: [
      {
        title: 'Processes that answer',
        kind: 'stat',
        width: 6,
        lines: [['count by (role) (perennial_build_info)', '{{role}}']],
      },
      {
        title: 'Releases',
        kind: 'stat',
        width: 6,
        lines: [['count by (version, runtime) (perennial_build_info)', '{{version}} {{runtime}}']],
      },
      { title: 'Requests', kind: 'stat', unit: 'reqps', width: 6, lines: [[perSecond('perennial_http_requests_total'), 'all']] },
      {
        title: 'Answers with 5xx',
        kind: 'stat',
        unit: 'percentunit',
        width: 6,
        red: 0.01,
        lines: [
          [
            `(${perSecond('perennial_http_requests_total{status=~"5.."}')} or vector(0)) / ${perSecond('perennial_http_requests_total')}`,
            'of all',
          ],
        ],
      },
      {
        title: 'Requests by status',
        unit: 'reqps',
        width: 12,
        lines: [[perSecond('perennial_http_requests_total', 'status'), '{{status}}']],
      },
      {
        title: 'Time to answer',
        unit: 's',
        width: 12,
        lines: [0.5, 0.95, 0.99].map(q => [quantile(q, 'perennial_http_request_duration_seconds'), `p${q * 100}`] as const),
      },
      {
        title: 'Slowest operations, p99',
        unit: 's',
        width: 12,
        lines: [[`topk(10, ${quantile(0.99, 'perennial_http_request_duration_seconds', 'le, operation')})`, '{{operation}}']],
      },
      {
        title: 'Operations with most requests',
        unit: 'reqps',
        width: 12,
        lines: [[`topk(10, ${perSecond('perennial_http_requests_total', 'operation')})`, '{{operation}}']],
      },
      {
        title: 'One request or job that holds up the others',
        description: 'The longest since the last reading.',
        unit: 's',
        width: 12,
        red: 1,
        lines: [['max by (instance) (perennial_event_loop_delay_seconds)', '{{instance}}']],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        width: 12,
        lines: [['process_resident_memory_bytes{job=~"perennial.*"}', '{{instance}}']],
      },
      {
        title: 'Processor time',
        description: 'Seconds a second.',
        width: 12,
        lines: [['rate(process_cpu_seconds_total{job=~"perennial.*"}[$__rate_interval])', '{{instance}}']],
      },
      {
        title: 'Redis answers',
        description: 'Only where messages go through Redis.',
        width: 12,
        lines: [['min by (instance) (perennial_redis_up)', '{{instance}}']],
      },
    ],
  },
  {
    uid: 'perennial-engine',
    title: 'Perennial: engine',
    description: 'Whether what was promised happens, and in time.',
    panels: [
      { title: 'Late jobs', ...none, lines: [[`sum(${installation('perennial_overdue', 'kind')})`, 'late']] },
      { title: 'Left by a dead worker', ...none, lines: [[`sum(${installation('perennial_abandoned', 'kind')})`, 'abandoned']] },
      { title: 'Of a kind that nobody knows', ...none, lines: [[`sum(${installation('perennial_unknown', 'kind')})`, 'unknown']] },
      { title: 'Unfinished work without a job', ...none, lines: [[installation('perennial_orphans'), 'orphans']] },
      {
        title: 'Executions by kind',
        unit: 'ops',
        width: 12,
        lines: [[perSecond('perennial_runs_total', 'kind'), '{{kind}}']],
      },
      {
        title: 'Executions by outcome',
        unit: 'ops',
        width: 12,
        lines: [[perSecond('perennial_runs_total', 'outcome'), '{{outcome}}']],
      },
      { title: 'Late jobs by kind', width: 12, lines: [[installation('perennial_overdue', 'kind'), '{{kind}}']] },
      {
        title: 'How late the oldest is',
        unit: 's',
        width: 12,
        lines: [[installation('perennial_oldest_overdue_seconds', 'kind'), '{{kind}}']],
      },
      {
        title: 'How far consumers are behind the events',
        unit: 's',
        width: 12,
        red: 60,
        lines: [[installation('perennial_consumer_lag_seconds', 'consumer'), '{{consumer}}']],
      },
      { title: 'Events not read yet', width: 12, lines: [[installation('perennial_consumer_lag', 'consumer'), '{{consumer}}']] },
      { title: 'Events set aside', width: 12, red: 1, lines: [[installation('perennial_set_aside', 'consumer'), '{{consumer}}']] },
      {
        title: 'Failed within a day',
        width: 12,
        lines: [
          [installation('perennial_failed_automation_runs'), 'runs of automations'],
          [installation('perennial_failed_report_runs'), 'reports'],
        ],
      },
    ],
  },
  {
    uid: 'perennial-integrations',
    title: 'Perennial: integrations',
    description: 'Deliveries to receivers: held, failed for good, and the integrations in error.',
    panels: [
      { title: 'Integrations in error', ...none, lines: [[installation('perennial_integrations_in_error'), 'in error']] },
      { title: 'Deliveries held', ...none, lines: [[installation('perennial_held'), 'held']] },
      {
        title: 'First held',
        kind: 'stat',
        unit: 's',
        width: 6,
        red: 900,
        lines: [[installation('perennial_oldest_held_seconds'), 'for']],
      },
      { title: 'Failed for good within a day', ...none, lines: [[installation('perennial_exhausted_deliveries'), 'failed']] },
      { title: 'Held', width: 12, lines: [[installation('perennial_held'), 'held']] },
      { title: 'For how long', unit: 's', width: 12, red: 900, lines: [[installation('perennial_oldest_held_seconds'), 'the first']] },
      {
        title: 'Attempts by outcome',
        unit: 'ops',
        width: 24,
        lines: [[perSecond('perennial_runs_total{kind=~".*delivery.*"}', 'kind, outcome'), '{{kind}} {{outcome}}']],
      },
    ],
  },
  {
    uid: 'perennial-stores',
    title: 'Perennial: stores',
    description: 'What the App Store, Google Play, Stripe and Paddle report, and what they answer.',
    panels: [
      {
        title: 'Notifications that wait',
        ...none,
        red: 1000,
        lines: [[`sum(${installation('perennial_store_pending', 'store')})`, 'pending']],
      },
      { title: 'Set aside', ...none, lines: [[`sum(${installation('perennial_store_set_aside', 'store')})`, 'set aside']] },
      { title: 'Not acknowledged at Google', ...none, lines: [[installation('perennial_store_unacknowledged'), 'purchases']] },
      { title: 'Stores with an alert', ...none, lines: [[`sum(${installation('perennial_store_alerts', 'alert')})`, 'stores']] },
      {
        title: 'Notifications by answer',
        unit: 'ops',
        width: 12,
        lines: [[perSecond('perennial_store_notifications_total', 'store, answer'), '{{store}} {{answer}}']],
      },
      {
        title: 'Time until a store is answered, p99',
        unit: 's',
        width: 12,
        red: 1,
        lines: [[quantile(0.99, 'perennial_store_ack_seconds', 'le, store'), '{{store}}']],
      },
      {
        title: 'How long the oldest waits',
        unit: 's',
        width: 12,
        red: 300,
        lines: [[installation('perennial_store_oldest_pending_seconds', 'store'), '{{store}}']],
      },
      {
        title: 'Questions to stores by answer',
        unit: 'ops',
        width: 12,
        lines: [[perSecond('perennial_store_refreshes_total', 'store, result'), '{{store}} {{result}}']],
      },
      {
        title: 'Changes that no push had brought',
        unit: 'ops',
        width: 12,
        lines: [[perSecond('perennial_store_missed_total', 'store'), '{{store}}']],
      },
      {
        title: 'Refused purchases by reason',
        unit: 'ops',
        width: 12,
        lines: [[perSecond('perennial_purchase_refusals_total', 'reason'), '{{reason}}']],
      },
      {
        title: 'Since the last push',
        unit: 's',
        width: 24,
        lines: [
          [installation('perennial_store_last_push_seconds', 'project, store, environment'), '{{project}} {{store}} {{environment}}'],
        ],
      },
    ],
  },
  {
    uid: 'perennial-analytics',
    title: 'Perennial: analytics',
    description: 'Whether figures are up to date and right, and who answers questions to them.',
    panels: [
      { title: 'Customers to be computed anew', ...none, red: 10_000, lines: [[installation('perennial_marked_users'), 'marked']] },
      {
        title: 'The first of them waits',
        kind: 'stat',
        unit: 's',
        width: 6,
        red: 300,
        lines: [[installation('perennial_oldest_mark_seconds'), 'for']],
      },
      { title: 'Cannot be computed', ...none, lines: [[installation('perennial_set_aside_users'), 'customers']] },
      { title: 'Differed in the last look', ...none, lines: [[installation('perennial_fact_drift'), 'customers']] },
      {
        title: 'Who answers charts',
        unit: 'ops',
        width: 12,
        lines: [[perSecond('perennial_figures_total', 'by'), '{{by}}']],
      },
      {
        title: 'Time to answer a chart',
        unit: 's',
        width: 12,
        lines: [0.5, 0.95, 0.99].map(
          q =>
            [
              quantile(q, 'perennial_http_request_duration_seconds', 'le', '{operation=~"v4(Get|List)AnalyticsCharts?"}'),
              `p${q * 100}`,
            ] as const,
        ),
      },
      { title: 'Customers to be computed anew', width: 12, lines: [[installation('perennial_marked_users'), 'marked']] },
      {
        title: 'Compared with a new computation',
        unit: 'ops',
        width: 12,
        lines: [
          ['max(rate(perennial_facts_compared_total[$__rate_interval]))', 'compared'],
          ['max(rate(perennial_fact_drift_total[$__rate_interval]))', 'differed'],
        ],
      },
    ],
  },
]
