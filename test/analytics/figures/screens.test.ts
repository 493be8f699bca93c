import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { DAY, HOUR } from '../../oracle/history.ts'
import { overviewAnswer, screenAnswer } from '../../oracle/screens.ts'
import { type World, worldOf } from '../../oracle/world.ts'
import { callsOf, described, expectAnswersByReplicas } from './answer-difference.ts'
import { CASES, SEED } from './draws.ts'
import { type Plan, plan, SCREENS, type SightPlan } from './plans.ts'
import { type PostedPlan, postPlan, storeRates } from './post-plan.ts'
import { type QuestionPlan, question, questionOf } from './questions.ts'
import { ratesBefore } from './rates.ts'
import { stable } from './stable.ts'

/** Questions to a history; to tell one takes as long as to ask twenty. */
const EACH = 10
/** Of screens there are fewer figures than of charts. */
const QUESTIONS = Math.ceil(CASES / 3)

let api: TestApi
const rates = ratesBefore(Math.floor(Date.now() / 1000))
beforeAll(async () => {
  api = await startApi({ replica: true })
  await storeRates(api, rates)
})
afterAll(() => api.stop())

/** A screen that a user saw around the time of something that was bought. */
type NearSight = { name: 'screen_shown' | 'screen_interacted'; screen: string; bought: number; before: number }

const nearSight: fc.Arbitrary<NearSight> = fc.record({
  name: fc.constantFrom('screen_shown', 'screen_interacted'),
  screen: fc.constantFrom(...SCREENS),
  bought: fc.nat(20),
  before: fc.constantFrom(0, 1, HOUR, 5 * HOUR, DAY - 1, DAY, DAY + 1, -1, -HOUR),
})

const UNKNOWN_USER = { country: null, appVersion: null, locale: null, device: null, mediaSource: null, campaign: null }

function sightsOf(drawn: Plan, near: NearSight[]): SightPlan[] {
  const bought = [
    ...drawn.subscriptions.map(({ user, store, startedAgo }) => ({ user, store, ago: startedAgo })),
    ...drawn.sales.map(({ user, store, ago }) => ({ user, store, ago })),
  ]
  return near.map(({ name, screen, bought: n, before }) => {
    const { user, store, ago } = bought[n % bought.length]!
    return { user, store, name, screen, ago: Math.max(HOUR, ago + before), known: UNKNOWN_USER }
  })
}

/** Of two screens within a second the spec says nothing. */
const oneAtATime = (sights: SightPlan[]): SightPlan[] => [...new Map(sights.map(sight => [`${sight.user} ${sight.ago}`, sight])).values()]

const planWithScreens = fc
  .tuple(plan, fc.array(nearSight, { maxLength: 6 }))
  .map(([drawn, near]): Plan => ({ ...drawn, sights: oneAtATime([...drawn.sights, ...sightsOf(drawn, near)]) }))

const planOfQuestion = question.map(
  (drawn): QuestionPlan => ({ ...drawn, code: 'sales', filters: [], segmentation: null, rateDay: null, previous: false }),
)
const picked = fc.record({ plan: planOfQuestion, screen: fc.constantFrom(null, null, ...SCREENS) })
type ScreenPlan = typeof picked extends fc.Arbitrary<infer T> ? T : never

const screenOfHistory = (environment: number, id: string) =>
  api.pool.query(`insert into screens (environment, id, name, type, created_at, updated_at) values ($1, $2, $3, 'paywall', now(), now())`, [
    environment,
    id,
    `Screen ${id}`,
  ])

type Answer = ReturnType<typeof overviewAnswer> | ReturnType<typeof screenAnswer>

async function agrees(posted: PostedPlan, { plan: drawn, screen }: ScreenPlan): Promise<void> {
  const { window, unit, zone, conversion } = questionOf(drawn, worldOf(posted.history))
  const common = { window, unit, conversion, ...(zone && { zone }) }
  const witness = (world: World): Answer => (screen === null ? overviewAnswer(world, common) : screenAnswer(world, common, screen))
  const expected = stable(posted.history, witness)
  if (expected === null) return
  const query = new URLSearchParams({ from: String(window.from), to: String(window.to), unit, currency: conversion.currency })
  if (zone) query.set('timezone', zone)
  const path = `/v4/screens/${screen === null ? 'analytics/overview' : `${screen}/analytics`}?${query}`
  for (const { driver, call } of callsOf(api)) {
    const { status, body, text } = await call('GET', path, { key: posted.key })
    const got =
      status === 200
        ? { kpis: body.data.kpis, unconverted: (body.unconverted ?? []).map((one: { currency: string }) => one.currency) }
        : `${status} ${text}`
    if (JSON.stringify(expected) !== JSON.stringify(got)) expect.fail(described({ posted, driver, path, expected, got }))
  }
}

test(`the figures of screens of any history are those of the witness: ${QUESTIONS} questions, FIGURES_SEED=${SEED}`, {
  timeout: 60_000 + QUESTIONS * 1_000,
}, async () => {
  const questions = fc.array(picked, { minLength: EACH, maxLength: EACH })
  const agree = fc.asyncProperty(planWithScreens, questions, async (drawn, all) => {
    const posted = await postPlan(api, drawn, rates)
    const { production, sandboxEnvironment } = posted.project
    for (const id of SCREENS) await screenOfHistory(drawn.isSandbox ? sandboxEnvironment : production, id)
    for (const one of all) await agrees(posted, one)
  })
  // To shrink a history would tell it anew again and again.
  await fc.assert(agree, { numRuns: Math.ceil(QUESTIONS / EACH), seed: SEED, endOnFailure: true })
  expectAnswersByReplicas(api)
})
