import type { Metric } from './question.ts'

export const METRIC_TEXTS: Record<Metric, string> = { arpu: 'Per user', arppu: 'Per paying user', revenue: 'Revenue' }
