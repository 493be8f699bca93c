import { expect } from 'vitest'
import type { TestApi } from '../../harness/api.ts'
import type { ChartQuestion, chartAnswer, Labels } from '../../oracle/answer.ts'
import { worldOf } from '../../oracle/world.ts'
import { essence } from './compare.ts'
import type { PostedPlan } from './post-plan.ts'
import { type QuestionPlan, queryOf, questionOf } from './questions.ts'
import { stableAnswer } from './stable.ts'

/** How the service names the values of attributes. */
export const LABELS: Labels = {
  target_platform: { iOS: 'Apple App Store', Android: 'Google Play', Stripe: 'Stripe', Paddle: 'Paddle' },
}

type Driver = 'postgres' | 'duckdb'

/** The drivers that an API can be asked through. */
export const callsOf = ({ call, replica }: Pick<TestApi, 'call' | 'replica'>): { driver: Driver; call: TestApi['call'] }[] => [
  { driver: 'postgres', call },
  ...(replica ? [{ driver: 'duckdb' as const, call: replica.call }] : []),
]

/** A replica that fails is not seen in the answers: Postgres gives the same. Only the times of events it does not have. */
export function expectAnswersByReplicas({ replica }: Pick<TestApi, 'replica'>): void {
  const { answers, fallbacks, errors } = replica!
  expect(errors).toEqual([])
  expect(answers.get('replica')).toBeGreaterThan(0)
  expect(fallbacks).toEqual([])
}

export type Difference = { posted: PostedPlan; driver: Driver; path: string; question: ChartQuestion; expected: unknown; got: unknown }

/** Null: the service and the witness agree, or the answer depends on the second at which it is given. */
export async function differenceIn(api: TestApi, posted: PostedPlan, plan: QuestionPlan): Promise<Difference | null> {
  const question = questionOf(plan, worldOf(posted.history))
  const answer = stableAnswer(posted.history, question, LABELS)
  if (answer === null) return null
  const path = `/v4/analytics/charts/${question.code}?${queryOf(question)}`
  const isSegmented = question.segmentation !== undefined
  const expected = essence(answer, isSegmented)
  for (const { driver, call } of callsOf(api)) {
    const { status, body, text } = await call('GET', path, { key: posted.key })
    const got = status === 200 ? essence(body as ReturnType<typeof chartAnswer>, isSegmented) : `${status} ${text}`
    if (JSON.stringify(expected) !== JSON.stringify(got)) return { posted, driver, path, question, expected, got }
  }
  return null
}

/** What was posted, what was requested, and the two answers: enough to repeat it by hand. */
export function described({ posted, driver, path, expected, got }: Omit<Difference, 'question'>): string {
  const { history, statements } = posted
  const lines = [
    `now ${new Date(history.now * 1000).toISOString()}`,
    ...history.users.map(user => `user ${JSON.stringify(user.id)} created ${new Date(user.createdAt * 1000).toISOString()}`),
    ...statements.map(statement => JSON.stringify(statement)),
    `${driver} ${path}`,
    `expected ${JSON.stringify(expected)}`,
    `got      ${JSON.stringify(got)}`,
  ]
  return lines.join('\n')
}
