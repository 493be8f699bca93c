// What must not change a figure: a sandbox beside it, rates that are imported again, a user who was erased.
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { importRates } from '../../../domain/purchases/rates/import.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { CHARTS } from '../../oracle/charts.ts'
import type { History, Rate } from '../../oracle/history.ts'
import { described, differenceIn, expectAnswersByReplicas } from './answer-difference.ts'
import { CASES, SEED } from './draws.ts'
import { type Plan, plan, type Way } from './plans.ts'
import { type PostedPlan, postPlan } from './post-plan.ts'
import { type QuestionPlan, question } from './questions.ts'
import { ratesBefore } from './rates.ts'

/** Questions to a history; to tell one takes as long as to ask twenty. */
const EACH = 6
const HISTORIES = Math.max(3, Math.ceil(CASES / 100))
const RUNS = { numRuns: HISTORIES, seed: SEED, endOnFailure: true }
const TIME = { timeout: 60_000 + HISTORIES * 10_000 }
const named = (law: string) => `${law}: ${HISTORIES} histories, FIGURES_SEED=${SEED}`

let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = await startApi({ replica: true })
})
// A law that failed may have left fewer of them.
beforeEach(() => store(rates))
afterAll(async () => {
  expectAnswersByReplicas(api)
  await api.stop()
})

async function store(some: Rate[]): Promise<void> {
  const lines = some.map(({ currency, date, usdPerUnit }, line) => ({ line, rate: { currency, date, usd: usdPerUnit, per: '1' } }))
  const imported = await importRates(api.pool, async function* () {
    yield* lines
  })
  expect(imported.is).toBe('imported')
}

const EACH_TIME = { minLength: EACH, maxLength: EACH }
const questions = fc.array(question, EACH_TIME)
const questionsAboutMoney = fc.array(
  question.filter(({ code }) => CHARTS[code]!.measure === 'usd'),
  EACH_TIME,
)

async function agree(posted: PostedPlan, picked: QuestionPlan[]): Promise<void> {
  for (const one of picked) {
    const difference = await differenceIn(api, posted, one)
    if (difference) expect.fail(described(difference))
  }
}

const OTHER_WAY: Record<Way, Way> = { posted: 'recorded', recorded: 'posted', 'posted, then recorded': 'recorded' }

/** The same at other prices, in another currency, by other users and told in another way. */
const otherwise = (drawn: Plan): Plan => {
  const change = <T extends { price: string; currency: string }>(one: T): T => ({
    ...one,
    price: one.price === '0' ? '0' : `7${one.price}`,
    currency: one.currency === 'EUR' ? 'USD' : 'EUR',
  })
  const other = (user: number) => (user + 1) % drawn.users.length
  return {
    ...drawn,
    subscriptions: drawn.subscriptions.map(one => ({
      ...one,
      user: other(one.user),
      way: OTHER_WAY[one.way],
      periods: one.periods.map(change),
    })),
    sales: drawn.sales.map(one => ({ ...change(one), user: other(one.user), way: OTHER_WAY[one.way] })),
  }
}

test(
  named('what the sandbox is told at the same time, by the same names, changes no figure of production, and the other way round'),
  TIME,
  async () => {
    const law = fc.asyncProperty(plan, questions, async (drawn, picked) => {
      const project = await api.newProject()
      const both = await Promise.all([
        postPlan(api, { ...drawn, isSandbox: false }, rates, { project }),
        postPlan(api, { ...otherwise(drawn), isSandbox: true }, rates, { project }),
      ])
      for (const posted of both) await agree(posted, picked)
    })
    await fc.assert(law, RUNS)
  },
)

test(
  named('what was told before a rate was known is converted by it afterwards, and importing it again changes nothing'),
  TIME,
  async () => {
    const law = fc.asyncProperty(plan, questionsAboutMoney, fc.subarray(rates, { minLength: 1 }), async (drawn, picked, known) => {
      await api.pool.query('truncate currency_rates')
      await store(known)
      const converted = (posted: PostedPlan, by: Rate[]): PostedPlan => ({ ...posted, history: { ...posted.history, rates: by } })
      // A currency without a rate cannot be asked for.
      const answerable = (by: Rate[]) => picked.filter(({ currency }) => currency === 'USD' || by.some(rate => rate.currency === currency))
      const posted = await postPlan(api, drawn, known)
      await agree(posted, answerable(known))
      for (let n = 0; n < 2; n++) {
        await store(rates)
        await agree(converted(posted, rates), picked)
      }
    })
    await fc.assert(law, RUNS)
  },
)

/** As if the user had never been. */
function without(history: History, user: string): History {
  const others = (sets: Record<string, string[]>) =>
    Object.fromEntries(Object.entries(sets).map(([name, members]) => [name, members.filter(member => member !== user)]))
  return {
    ...history,
    users: history.users.filter(({ id }) => id !== user),
    arrivals: history.arrivals.filter(arrival => arrival.user !== user),
    occurrences: history.occurrences.filter(occurrence => occurrence.user !== user),
    segments: others(history.segments),
    experimentGroups: others(history.experimentGroups),
  }
}

test(named('who was erased leaves the figures of a history without that user'), TIME, async () => {
  const law = fc.asyncProperty(plan, fc.nat(2), questions, async (drawn, leaver, picked) => {
    const posted = await postPlan(api, drawn, rates)
    // Both drivers have the user's facts.
    await agree(posted, picked.slice(0, 2))
    const user = `user ${leaver}`
    const { status, text } = await api.call('DELETE', `/v4/customers/${posted.ids[user]}`, { key: posted.key })
    expect(status, text).toBeLessThan(300)
    await agree({ ...posted, history: without(posted.history, user) }, picked)
  })
  await fc.assert(law, RUNS)
})
