import { readHealth } from '../../../domain/oversight/health/figures.ts'
import { apiTime } from '../../../store/connect.ts'
import { onPool } from '../../operation.ts'

export const v4GetHealth = onPool('v4GetHealth', async ({ environment, db }) => {
  const { now, figures } = await readHealth(db, environment)
  const status = figures.some(({ is_degraded }) => is_degraded) ? ('degraded' as const) : ('ok' as const)
  return { body: { object: 'health' as const, url: '/v4/health' as const, generated_at: apiTime(now), status, data: figures } }
})
