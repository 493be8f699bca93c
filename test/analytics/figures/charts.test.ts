import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { described, differenceIn, expectAnswersByReplicas } from './answer-difference.ts'
import { CASES, SEED } from './draws.ts'
import { plan } from './plans.ts'
import { postPlan, storeRates } from './post-plan.ts'
import { question } from './questions.ts'
import { ratesBefore } from './rates.ts'

/** Questions to a history; to tell one takes as long as to ask twenty. */
const EACH = 10

let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = await startApi({ replica: true })
  await storeRates(api, rates)
})
afterAll(() => api.stop())

test(`the charts of any history are those of the witness: ${CASES} questions, FIGURES_SEED=${SEED}`, {
  timeout: 60_000 + CASES * 1_000,
}, async () => {
  const questions = fc.array(question, { minLength: EACH, maxLength: EACH })
  const agree = fc.asyncProperty(plan, questions, async (drawn, picked) => {
    const posted = await postPlan(api, drawn, rates)
    for (const one of picked) {
      const difference = await differenceIn(api, posted, one)
      if (difference) expect.fail(described(difference))
    }
  })
  // To shrink a history would tell it anew again and again.
  await fc.assert(agree, { numRuns: Math.ceil(CASES / EACH), seed: SEED, endOnFailure: true })
  expectAnswersByReplicas(api)
})
