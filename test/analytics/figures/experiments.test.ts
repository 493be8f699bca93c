import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { callsOf, expectAnswersByReplicas } from './answer-difference.ts'
import { CASES, SEED } from './draws.ts'
import { plan } from './plans.ts'
import { type PostedPlan, postPlan, storeRates } from './post-plan.ts'
import { ratesBefore } from './rates.ts'

let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = await startApi({ replica: true })
  await storeRates(api, rates)
})
afterAll(() => api.stop())

/** An experiment, begun at `start` (Unix seconds), in which every user is since then. */
async function experimentOfAll({ project }: PostedPlan, isSandbox: boolean, start: number): Promise<string> {
  const environment = isSandbox ? project.sandboxEnvironment : project.production
  const id = `exp_${environment}`
  const at = [environment, id, start]
  await api.pool.query(
    `insert into experiments (environment, id, name, alias_id, status, started_at, context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
     values ($1, $2, 'All', $2, 'active', to_timestamp($3), '', false, '[]', now(), now())`,
    at,
  )
  await api.pool.query(
    `insert into experiment_groups (environment, experiment_id, id, weight, is_control, created_at, updated_at) values ($1, $2, $2, 1, true, now(), now())`,
    at.slice(0, 2),
  )
  await api.pool.query(
    `insert into experiment_assignments (environment, experiment_id, user_id, group_id, assigned_at)
     select $1, $2, id, $2, to_timestamp($3) from users where environment = $1`,
    at,
  )
  return id
}

const HISTORIES = Math.max(3, Math.ceil(CASES / 30))

test(`an experiment in which everybody is has the figures of the charts: ${HISTORIES} histories, FIGURES_SEED=${SEED}`, {
  timeout: 60_000 + HISTORIES * 5_000,
}, async () => {
  const property = fc.asyncProperty(
    plan,
    fc.integer({ min: 1, max: 500 }),
    fc.constantFrom('USD', 'EUR'),
    async (drawn, days, currency) => {
      const posted = await postPlan(api, drawn, rates)
      const { key, history } = posted
      const [from, to] = [history.now - days * 86_400, history.now]
      const id = await experimentOfAll(posted, drawn.isSandbox, from)
      for (const { driver, call } of callsOf(api)) {
        const chart = async (code: string): Promise<number[]> => {
          const { body } = await call('GET', `/v4/analytics/charts/${code}?from=${from}&to=${to}&unit=month&currency=${currency}`, { key })
          expect(body.series, JSON.stringify(body)).toBeDefined()
          return body.series.map((series: { total: number }) => series.total)
        }
        const { body } = await call('GET', `/v4/experiments/summary?filter[experiment_uid][]=${id}&to=${to}&currency=${currency}`, { key })
        const [group] = body.data[0].groups
        const [[net, refunds], [proceeds], [trials], [started, converted]] = (await Promise.all(
          ['sales', 'proceeds', 'free-trials', 'new-subscriptions'].map(chart),
        )) as [[number, number], [number], [number], [number, number]]
        const shown = { sales: group.sales - group.refunds, refunds: group.refunds, proceeds: group.proceeds }
        for (const [name, expected] of Object.entries({ sales: net, refunds, proceeds }))
          expect(shown[name as keyof typeof shown], `${driver} ${name} ${JSON.stringify(posted.statements)}`).toBeCloseTo(expected, 1)
        expect([group.users, group.trials, group.trial_conversions, group.subscriptions], driver).toEqual([
          history.users.length,
          trials,
          converted,
          started + converted,
        ])
      }
    },
  )
  await fc.assert(property, { numRuns: HISTORIES, seed: SEED, endOnFailure: true })
  expectAnswersByReplicas(api)
})
