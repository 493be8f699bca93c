// The card of today beside histories in which much happened today and yesterday.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { cardAnswer } from '../../oracle/card.ts'
import { DAY, HOUR } from '../../oracle/history.ts'
import { worldOf } from '../../oracle/world.ts'
import { callsOf, described, expectAnswersByReplicas } from './answer-difference.ts'
import { CASES, SEED } from './draws.ts'
import { type Plan, plan } from './plans.ts'
import { type PostedPlan, postPlan, storeRates } from './post-plan.ts'
import { type QuestionPlan, queryOf, question, questionOf } from './questions.ts'
import { ratesBefore } from './rates.ts'
import { stable } from './stable.ts'

/** Questions to a history; to tell one takes as long as to ask twenty. */
const EACH = 10

let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = await startApi({ replica: true })
  await storeRates(api, rates)
})
afterAll(() => api.stop())

/** The same, in the last two days. */
function recent(drawn: Plan): Plan {
  const lately = (ago: number) => HOUR + (ago % (2 * DAY - HOUR))
  return {
    ...drawn,
    subscriptions: drawn.subscriptions.map(one => ({ ...one, startedAgo: lately(one.startedAgo) })),
    sales: drawn.sales.map(one => ({ ...one, ago: lately(one.ago) })),
  }
}

async function agrees(posted: PostedPlan, picked: QuestionPlan): Promise<void> {
  const of = questionOf(picked, worldOf(posted.history))
  const expected = stable(posted.history, world => cardAnswer(world, of.conversion, of.filters, of.zone))
  if (expected === null) return
  const path = `/v4/analytics/cards/realtime?${queryOf(of)}`
  for (const { driver, call } of callsOf(api)) {
    const { status, body, text } = await call('GET', path, { key: posted.key })
    const got = status === 200 ? body : `${status} ${text}`
    if (JSON.stringify(expected) !== JSON.stringify(got)) expect.fail(described({ posted, driver, path, expected, got }))
  }
}

const HISTORIES = Math.max(3, Math.ceil(CASES / 30))

test(`the card of any day is that of the witness: ${HISTORIES} histories, FIGURES_SEED=${SEED}`, {
  timeout: 60_000 + HISTORIES * 5_000,
}, async () => {
  // The parameters of a chart of sales, whichever of them matter.
  const questions = fc.array(
    question.map(one => ({ ...one, code: 'sales' })),
    { minLength: EACH, maxLength: EACH },
  )
  // Around midnight in UTC nothing is asked.
  const timeOfDay = fc.integer({ min: 2 * HOUR, max: DAY - HOUR })
  const property = fc.asyncProperty(plan.map(recent), timeOfDay, questions, async (drawn, time, picked) => {
    const ahead = (time - (Math.floor(Date.now() / 1000) % DAY) + DAY) % DAY
    const posted = await postPlan(api, drawn, rates, { ahead })
    for (const one of picked) await agrees(posted, one)
  })
  await fc.assert(property, { numRuns: HISTORIES, seed: SEED, endOnFailure: true })
  expectAnswersByReplicas(api)
})
