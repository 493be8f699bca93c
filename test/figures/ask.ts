import type { TestApi } from '../harness/api.ts'
import type { ChartQuestion, chartAnswer, Labels } from '../oracle/answer.ts'
import { worldOf } from '../oracle/world.ts'
import { essence } from './compare.ts'
import { type QuestionPlan, queryOf, questionOf } from './questions.ts'
import { stableAnswer } from './stable.ts'
import type { Told } from './tell.ts'

/** How the service names the values of attributes. */
export const LABELS: Labels = {
  target_platform: { iOS: 'Apple App Store', Android: 'Google Play', Stripe: 'Stripe', Paddle: 'Paddle' },
}

export type Difference = { told: Told; path: string; question: ChartQuestion; expected: unknown; got: unknown }

/** Null: the service and the witness agree, or the answer depends on the second at which it is given. */
export async function differenceIn(api: TestApi, told: Told, plan: QuestionPlan): Promise<Difference | null> {
  const question = questionOf(plan, worldOf(told.history))
  const answer = stableAnswer(told.history, question, LABELS)
  if (answer === null) return null
  const path = `/v4/analytics/charts/${question.code}?${queryOf(question)}`
  const { status, body, text } = await api.call('GET', path, { key: told.key })
  const isSegmented = question.segmentation !== undefined
  const expected = essence(answer, isSegmented)
  const got = status === 200 ? essence(body as ReturnType<typeof chartAnswer>, isSegmented) : `${status} ${text}`
  return JSON.stringify(expected) === JSON.stringify(got) ? null : { told, path, question, expected, got }
}

/** What was told, what was asked, and the two answers: enough to repeat it by hand. */
export function described({ told, path, expected, got }: Omit<Difference, 'question'>): string {
  const { history, statements } = told
  const lines = [
    `now ${new Date(history.now * 1000).toISOString()}`,
    ...history.users.map(user => `user ${JSON.stringify(user.id)} created ${new Date(user.createdAt * 1000).toISOString()}`),
    ...statements.map(statement => JSON.stringify(statement)),
    path,
    `expected ${JSON.stringify(expected)}`,
    `got      ${JSON.stringify(got)}`,
  ]
  return lines.join('\n')
}
