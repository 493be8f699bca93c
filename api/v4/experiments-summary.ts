import { onPool } from '../operation.ts'

export const v4GetExperimentsSummary = onPool('v4GetExperimentsSummary', async ({ query }) => ({
  body: {
    object: 'experiments_summary' as const,
    url: '/v4/experiments/summary' as const,
    environment: 1 as const,
    currency: query.currency,
    data: [],
  },
}))
