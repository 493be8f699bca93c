import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { type World, worldOf } from '../../oracle/world.ts'
import { callsOf, described, expectAnswersByReplicas } from './answer-difference.ts'
import { type CohortPlan, cohortPath, cohortPlan, cohortQuestionOf, witnessOf } from './cohort-questions.ts'
import { CASES, SEED } from './draws.ts'
import { type Plan, plan } from './plans.ts'
import { type PostedPlan, postPlan, storeRates } from './post-plan.ts'
import { ratesBefore } from './rates.ts'
import { stable } from './stable.ts'

/** Questions to a history; to tell one takes as long as to ask twenty. */
const EACH = 15

let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = await startApi({ replica: true })
  await storeRates(api, rates)
})
afterAll(() => api.stop())

/** Whether a user began with two transactions in one second: nothing says which of them classifies the user. */
const isAnyClassOpen = ({ history, charged }: World): boolean =>
  history.users.some(({ id }) => {
    const times = charged.flatMap(({ transaction }) => (transaction.user === id ? transaction.at : []))
    return times.filter(at => at === Math.min(...times)).length > 1
  })

async function agrees(posted: PostedPlan, picked: CohortPlan): Promise<void> {
  const world = worldOf(posted.history)
  if ((picked.segment || picked.filters.length > 0) && isAnyClassOpen(world)) return
  const question = cohortQuestionOf(picked, world)
  const expected = stable(posted.history, world => witnessOf(picked.operation, world, question))
  if (expected === null) return
  const path = cohortPath(picked.operation, question)
  for (const { driver, call } of callsOf(api)) {
    const { status, body, text } = await call('GET', path, { key: posted.key })
    const got: unknown = status === 200 ? Object.fromEntries(Object.keys(expected).map(key => [key, body[key]])) : `${status} ${text}`
    // Order of the keys does not matter, and a witness has no segments unless asked.
    try {
      expect(got).toEqual(expected)
    } catch {
      expect.fail(described({ posted, driver, path, expected, got }))
    }
  }
}

test(`cohorts and LTV of any history are those of the witness: ${CASES} questions, FIGURES_SEED=${SEED}`, {
  timeout: 60_000 + CASES * 1_000,
}, async () => {
  const questions = fc.array(cohortPlan, { minLength: EACH, maxLength: EACH })
  const agree = fc.asyncProperty(plan, questions, async (drawn, picked) => {
    const posted = await postPlan(api, drawn, rates)
    for (const one of picked) await agrees(posted, one)
  })
  // To shrink a history would tell it anew again and again.
  await fc.assert(agree, { numRuns: Math.ceil(CASES / EACH), seed: SEED, endOnFailure: true })
  expectAnswersByReplicas(api)
})

type Cell = { index: number; payers: number; subscriptions: number; revenue: number }
type Row = { users: number; periods: Cell[] }

/** Money is rounded in each cell. */
const HALF_A_CENT = 0.005

function expectSum(parts: Row[], whole: Row): void {
  const sum = (rows: Row[], of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0)
  expect(sum(parts, row => row.users)).toBe(whole.users)
  for (const { index, payers, subscriptions, revenue } of whole.periods) {
    const cells = (of: (cell: Cell) => number) => sum(parts, row => of(row.periods.find(cell => cell.index === index) ?? EMPTY))
    expect(cells(cell => cell.payers)).toBe(payers)
    expect(cells(cell => cell.subscriptions)).toBe(subscriptions)
    // Amounts are millions, so the binary sum is off by some 10^-8.
    expect(Math.abs(cells(cell => cell.revenue) - revenue)).toBeLessThan(HALF_A_CENT * (parts.length + 1) + 1e-6)
  }
}
const EMPTY: Cell = { index: 0, payers: 0, subscriptions: 0, revenue: 0 }

test(`cohorts add to their total, and segments to the whole, FIGURES_SEED=${SEED}`, { timeout: 120_000 }, async () => {
  const laws = fc.asyncProperty(plan, fc.array(cohortPlan, { minLength: EACH, maxLength: EACH }), async (drawn, picked) => {
    const posted = await postPlan(api, drawn, rates)
    for (const one of picked) {
      const question = { ...cohortQuestionOf(one, worldOf(posted.history)), segment: one.segment ?? 'country' }
      const path = cohortPath('cohorts', question)
      const { body } = await api.call('GET', path, { key: posted.key })
      const { cohorts, total, segments } = body
      if (total === null) {
        expect([path, cohorts, segments]).toEqual([path, [], []])
        continue
      }
      expectSum(cohorts, total)
      expectSum(
        segments.map((segment: { total: Row }) => segment.total),
        total,
      )
      for (const segment of segments) expectSum(segment.cohorts, segment.total)
    }
  })
  await fc.assert(laws, { numRuns: 4, seed: SEED, endOnFailure: true })
})

test('facts that were folded before renewals knew their first payers give the same payers', async () => {
  const renewals = fc.record({ drawn: plan, picked: fc.array(cohortPlan, { minLength: EACH, maxLength: EACH }) })
  const [{ drawn, picked }] = fc.sample(renewals, { numRuns: 1, seed: SEED }) as [{ drawn: Plan; picked: CohortPlan[] }]
  const posted = await postPlan(api, drawn, rates)
  const paths = picked.map(one => cohortPath('cohorts', { ...cohortQuestionOf(one, worldOf(posted.history)), mode: 'by_renewals' }))
  const { call } = callsOf(api).find(({ driver }) => driver === 'postgres')!
  const answers = () => Promise.all(paths.map(async path => (await call('GET', path, { key: posted.key })).body.cohorts))
  const before = await answers()
  const [old] = (
    await api.pool.query<{ environment: number }>(
      'select environment from transaction_facts where recorded is not null order by id desc limit 1',
    )
  ).rows
  await api.pool.query('update transaction_facts set firsts = firsts & 127 where environment = $1', [old!.environment])
  await api.pool.query('update fact_state set fold_version = 1 where environment = $1', [old!.environment])
  expect(await answers()).toEqual(before)
  expect(before.flat().length).toBeGreaterThan(0)
})
