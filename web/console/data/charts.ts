type Listed = { code: string; title: string }

const of = (charts: Record<string, string>): Listed[] => Object.entries(charts).map(([code, title]) => ({ code, title }))

/** The charts in the groups in which the console shows them. */
export const CHARTS: readonly { group: string; charts: readonly Listed[] }[] = [
  {
    group: 'Revenue',
    charts: of({
      sales: 'Sales',
      proceeds: 'Proceeds',
      mrr: 'MRR',
      'mrr-movement': 'MRR movement',
      arr: 'ARR',
      'arr-movement': 'ARR movement',
      arpu: 'ARPU',
      arppu: 'ARPPU',
      refunds: 'Refunds',
      'refund-rate': 'Refund rate',
    }),
  },
  {
    group: 'Subscriptions',
    charts: of({
      'active-subscriptions': 'Active subscriptions',
      'new-subscriptions': 'New subscriptions',
      'paid-subscriptions-movement': 'Paid subscriptions movement',
      'subscriptions-overview': 'Subscriptions overview',
      'subscription-cancellation': 'Subscription cancellation',
    }),
  },
  {
    group: 'Trials',
    charts: of({
      'free-trials': 'New trials',
      'active-trials': 'Active trials',
      'trials-movement': 'Trials movement',
      'trial-to-paid': 'Trial to paid',
      'trial-cancellation': 'Trial cancellation',
    }),
  },
  {
    group: 'Users',
    charts: of({ 'users-overview': 'New users', 'user-to-trial': 'User to trial', 'user-to-paid': 'User to paid' }),
  },
]

export const titleOfChart = (code: string): string =>
  CHARTS.flatMap(({ charts }) => charts).find(chart => chart.code === code)?.title ?? code

/** More of these is worse. */
const COSTS = new Set(['refunds', 'refund-rate', 'subscription-cancellation', 'trial-cancellation'])
export const isGood = (code: string): boolean => !COSTS.has(code)
