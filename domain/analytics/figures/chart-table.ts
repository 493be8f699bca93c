export type ChartMeasure = 'usd' | 'count' | 'percent'
/** flow: a sum over the facts of a time. stock: a state at its end. ratio: a quotient of two flows, or of a flow and distinct users. */
export type ChartKind = 'flow' | 'stock' | 'ratio'
export type SeriesRelation = 'partsOfWhole' | 'independent'
/** The event whose time places a fact in a bucket. */
export type Placement =
  | 'purchase'
  | 'refund'
  | 'purchase; refund'
  | 'change of m'
  | 'period start'
  | 'cancellation'
  | 'run end'
  | 'creation'

/**
 * A chart. `summary`: the label of the series beside unsegmented series, their sum. `ofValues`: the index of the series that a value of a
 * segmentation shows; null: the sum of all. `about`: a chart about users has no attributes of purchases except the store. `symbols`: one formula for each series.
 */
type Chart = {
  code: string
  title: string
  measure: ChartMeasure
  kind: ChartKind
  relation: SeriesRelation
  series: readonly string[]
  summary: 'Total' | 'Net' | null
  ofValues: number | null
  about: 'purchases' | 'users'
  segmented: boolean
  placed: readonly Placement[]
  description: string
  symbols: readonly string[]
}

const P = 'partsOfWhole'
const I = 'independent'
const OF_SUBSCRIPTIONS = { measure: 'count', kind: 'stock', relation: P, series: ['Auto-renew on', 'Auto-renew off'] } as const
const BY_BILLING = ['purchase', 'refund'] as const
const ALL = { summary: null, ofValues: null, about: 'purchases', segmented: true } as const

const M =
  'm = amount of the latest paid period × factor (a month of 365.25⁄12 days ÷ its length: P1W 1461⁄336, P1M 1, P2M ½, P3M ⅓, P6M ⅙, P1Y 1⁄12) while paid or in grace, auto-renew on'

/**
 * The charts: the one table that answers, meta, documentation and tests use. In formulas t runs over transactions, s over subscriptions, u
 * over users; [a, b) is the bucket or window.
 */
export const CHARTS = [
  {
    ...ALL,
    code: 'sales',
    title: 'Sales',
    measure: 'usd',
    kind: 'flow',
    relation: P,
    series: ['Sales after refunds', 'Refunds'],
    summary: 'Total',
    ofValues: 0,
    placed: BY_BILLING,
    description:
      'Amounts of paid transactions by their purchase, minus what was credited of them and refunded amounts, by the credit and the refund; together with the refunds: gross sales.',
    symbols: [
      'Σ amount(t), purchased in [a, b) − Σ credited(t), credited in [a, b) − Σ refunded(t), refunded in [a, b)',
      'Σ refunded(t), refunded in [a, b)',
    ],
  },
  {
    ...ALL,
    code: 'proceeds',
    title: 'Proceeds',
    measure: 'usd',
    kind: 'flow',
    relation: P,
    series: ['Proceeds'],
    placed: BY_BILLING,
    description:
      'What the stores leave of paid transactions by their purchase, minus the same share of what was credited of them and refunded.',
    symbols: ['Σ proceeds(t), purchased in [a, b) − Σ (credited(t) + refunded(t)) × rate(t), credited and refunded in [a, b)'],
  },
  {
    ...ALL,
    code: 'refunds',
    title: 'Refunds',
    measure: 'usd',
    kind: 'flow',
    relation: P,
    series: ['Refunds'],
    placed: ['refund'],
    description: 'Refunded amounts, by their refund.',
    symbols: ['Σ refunded(t), refunded in [a, b)'],
  },
  {
    ...ALL,
    code: 'refund-rate',
    title: 'Refund rate',
    measure: 'percent',
    kind: 'ratio',
    relation: I,
    series: ['Refund rate'],
    placed: ['purchase'],
    description: 'Share of paid transactions that are refunded by now, in part or in full, by their purchase.',
    symbols: ['100 × #{paid t in [a, b): refunded by now} ÷ #{paid t in [a, b)}'],
  },
  {
    ...ALL,
    code: 'arpu',
    title: 'ARPU',
    measure: 'usd',
    kind: 'ratio',
    relation: I,
    series: ['ARPU'],
    placed: BY_BILLING,
    description:
      'Sales after refunds for each active user. Active are users who were created, or had an event or a transaction, in the time. Attributes of purchases restrict the sales only.',
    symbols: ['(Σ amount(t) − Σ credited(t) − Σ refunded(t)) ÷ #{u active in [a, b)}'],
  },
  {
    ...ALL,
    code: 'arppu',
    title: 'ARPPU',
    measure: 'usd',
    kind: 'ratio',
    relation: I,
    series: ['ARPPU'],
    placed: BY_BILLING,
    description: 'Sales after refunds for each user with a paid transaction in the time.',
    symbols: ['(Σ amount(t) − Σ credited(t) − Σ refunded(t)) ÷ #{u with a paid t in [a, b)}'],
  },
  {
    ...ALL,
    code: 'mrr',
    title: 'MRR',
    measure: 'usd',
    kind: 'stock',
    relation: P,
    series: ['MRR'],
    placed: [],
    description:
      'Monthly recurring revenue: the latest paid period of each subscription that renews, as an amount for a month. Of a prorated period the whole price of its plan counts.',
    symbols: [`Σ m(s) at b; ${M}`],
  },
  {
    ...ALL,
    code: 'arr',
    title: 'ARR',
    measure: 'usd',
    kind: 'stock',
    relation: P,
    series: ['ARR'],
    placed: [],
    description: 'Annual recurring revenue: twelve times the monthly recurring revenue.',
    symbols: ['12 × Σ m(s) at b'],
  },
  {
    ...ALL,
    code: 'mrr-movement',
    title: 'MRR movement',
    measure: 'usd',
    kind: 'flow',
    relation: I,
    series: ['New', 'Expansion', 'Contraction', 'Churn'],
    summary: 'Net',
    placed: ['change of m'],
    description:
      'Changes of monthly recurring revenue, subscription by subscription: from nothing (returns included), up, down, and to nothing. Their sum is the difference of MRR.',
    symbols: ['Σ m⁺(s), m⁻(s) = 0', 'Σ m⁺(s) − m⁻(s), m⁺ > m⁻ > 0', 'Σ m⁺(s) − m⁻(s), m⁻ > m⁺ > 0', '−Σ m⁻(s), m⁺(s) = 0'],
  },
  {
    ...ALL,
    code: 'arr-movement',
    title: 'ARR movement',
    measure: 'usd',
    kind: 'flow',
    relation: I,
    series: ['New', 'Expansion', 'Contraction', 'Churn'],
    summary: 'Net',
    placed: ['change of m'],
    description: 'Twelve times the MRR movement.',
    symbols: [
      '12 × Σ m⁺(s), m⁻(s) = 0',
      '12 × Σ m⁺(s) − m⁻(s), m⁺ > m⁻ > 0',
      '12 × Σ m⁺(s) − m⁻(s), m⁻ > m⁺ > 0',
      '−12 × Σ m⁻(s), m⁺(s) = 0',
    ],
  },
  {
    ...ALL,
    ...OF_SUBSCRIPTIONS,
    code: 'active-subscriptions',
    title: 'Active subscriptions',
    summary: 'Total',
    placed: [],
    series: ['Auto-renew on', 'Auto-renew off', 'In grace'],
    description:
      'Subscriptions in a paid period, by whether they renew, and in a grace period, while the store tries to charge the renewal. MRR counts both with auto-renew on; in grace after a trial there is no amount yet.',
    symbols: ['#{s paid at b: auto-renew on}', '#{s paid at b: auto-renew off}', '#{s in grace at b}'],
  },
  {
    ...ALL,
    code: 'new-subscriptions',
    title: 'New subscriptions',
    measure: 'count',
    kind: 'flow',
    relation: P,
    series: ['Started', 'Converted'],
    summary: 'Total',
    placed: ['period start'],
    description: 'First paid periods: of runs without a trial, and after a trial.',
    symbols: ['#{starts in [a, b)}', '#{conversions in [a, b)}'],
  },
  {
    ...ALL,
    code: 'paid-subscriptions-movement',
    title: 'Paid subscriptions movement',
    measure: 'count',
    kind: 'flow',
    relation: I,
    series: ['New', 'Churned'],
    summary: 'Net',
    placed: ['period start', 'run end'],
    description: 'Starts and conversions, and runs with a paid period that ended.',
    symbols: ['#{starts and conversions in [a, b)}', '−#{runs with a paid period that ended in [a, b)}'],
  },
  {
    ...ALL,
    code: 'subscriptions-overview',
    title: 'Subscriptions overview',
    measure: 'count',
    kind: 'flow',
    relation: I,
    series: ['New', 'Renewed', 'Canceled', 'Expired'],
    segmented: false,
    placed: ['period start', 'cancellation', 'run end'],
    description:
      'Starts and conversions; renewals; auto-renew switched off, also where it was switched on again, or billing given up, in a run with a paid period; runs with a paid period that ended.',
    symbols: [
      '#{starts and conversions in [a, b)}',
      '#{renewals in [a, b)}',
      '#{runs with a paid period: auto-renew switched off or billing given up in [a, b)}',
      '#{runs with a paid period that ended in [a, b)}',
    ],
  },
  {
    ...ALL,
    code: 'subscription-cancellation',
    title: 'Subscription cancellation',
    measure: 'percent',
    kind: 'ratio',
    relation: I,
    series: ['Cancellation rate'],
    placed: ['period start'],
    description: 'Share of starts and conversions whose run is cancelled by now.',
    symbols: ['100 × #{starts and conversions in [a, b): cancelled by now} ÷ #{starts and conversions in [a, b)}'],
  },
  {
    ...ALL,
    code: 'free-trials',
    title: 'Free trials',
    measure: 'count',
    kind: 'flow',
    relation: P,
    series: ['Trials'],
    placed: ['period start'],
    description: 'Trials begun.',
    symbols: ['#{trials begun in [a, b)}'],
  },
  {
    ...ALL,
    ...OF_SUBSCRIPTIONS,
    code: 'active-trials',
    title: 'Active trials',
    summary: 'Total',
    placed: [],
    description: 'Subscriptions in a trial, by whether they renew.',
    symbols: ['#{s in trial at b: auto-renew on}', '#{s in trial at b: auto-renew off}'],
  },
  {
    ...ALL,
    code: 'trials-movement',
    title: 'Trials movement',
    measure: 'count',
    kind: 'flow',
    relation: I,
    series: ['Started', 'Expired'],
    summary: 'Net',
    placed: ['period start', 'run end'],
    description: 'Trials begun, and runs of a trial alone that ended.',
    symbols: ['#{trials begun in [a, b)}', '−#{runs of a trial alone that ended in [a, b)}'],
  },
  {
    ...ALL,
    code: 'trial-cancellation',
    title: 'Trial cancellation',
    measure: 'percent',
    kind: 'ratio',
    relation: I,
    series: ['Trial cancellation rate'],
    placed: ['period start'],
    description: 'Share of trials begun that are cancelled by now.',
    symbols: ['100 × #{trials begun in [a, b): cancelled by now} ÷ #{trials begun in [a, b)}'],
  },
  {
    ...ALL,
    code: 'trial-to-paid',
    title: 'Trial to paid',
    measure: 'percent',
    kind: 'ratio',
    relation: I,
    series: ['Trial conversion'],
    placed: ['period start'],
    description: 'Share of trials begun that have a conversion by now.',
    symbols: ['100 × #{trials begun in [a, b): converted by now} ÷ #{trials begun in [a, b)}'],
  },
  {
    ...ALL,
    code: 'users-overview',
    title: 'Users overview',
    measure: 'count',
    kind: 'flow',
    relation: P,
    series: ['New users'],
    about: 'users',
    placed: ['creation'],
    description: 'Users created.',
    symbols: ['#{u created in [a, b)}'],
  },
  {
    ...ALL,
    code: 'user-to-trial',
    title: 'User to trial',
    measure: 'percent',
    kind: 'ratio',
    relation: I,
    series: ['Share of users who have begun a trial'],
    about: 'users',
    placed: ['creation'],
    description: 'Share of users created who have begun a trial by now.',
    symbols: ['100 × #{u created in [a, b): begun a trial by now} ÷ #{u created in [a, b)}'],
  },
  {
    ...ALL,
    code: 'user-to-paid',
    title: 'User to paid',
    measure: 'percent',
    kind: 'ratio',
    relation: I,
    series: ['Share of users who have paid'],
    about: 'users',
    placed: ['creation'],
    description: 'Share of users created who have a start, a conversion or a one-time purchase by now.',
    symbols: ['100 × #{u created in [a, b): paid by now} ÷ #{u created in [a, b)}'],
  },
] as const satisfies readonly Chart[]

export type ChartCode = (typeof CHARTS)[number]['code']
export type ChartOf<Code extends ChartCode = ChartCode> = Chart & { code: Code }

/** Second names; the answer repeats the requested name. */
export const CHART_ALIASES = {
  'user-to-trial-conversion': 'user-to-trial',
  'subscription-cancellation-rate': 'subscription-cancellation',
} as const satisfies Record<string, ChartCode>

/** All names, aliases included. */
export const CHART_NAMES: readonly string[] = [...CHARTS.map(({ code }) => code), ...Object.keys(CHART_ALIASES)]

/** The chart of a name or alias; undefined for any other text. */
export function chartOf(name: string): ChartOf | undefined {
  const code = Object.hasOwn(CHART_ALIASES, name) ? CHART_ALIASES[name as keyof typeof CHART_ALIASES] : name
  return CHARTS.find(chart => chart.code === code)
}

export const TOTAL_TYPE = { flow: 'sum', stock: 'last', ratio: 'average' } as const satisfies Record<ChartKind, string>
