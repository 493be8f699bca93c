import type { Client } from '../harness/client.ts'
import type { Described } from '../harness/described.ts'

const CHART_WINDOW = 'from=1767225600&to=1793491200&unit=month'
/** Those of the first release: a chart that is taken away fails the test of upgrades, as it should. */
export const CHARTS = [
  'sales',
  'proceeds',
  'refunds',
  'refund-rate',
  'arpu',
  'arppu',
  'mrr',
  'arr',
  'mrr-movement',
  'arr-movement',
  'active-subscriptions',
  'new-subscriptions',
  'paid-subscriptions-movement',
  'subscriptions-overview',
  'subscription-cancellation',
  'free-trials',
  'active-trials',
  'trials-movement',
  'trial-cancellation',
  'trial-to-paid',
  'users-overview',
  'user-to-trial',
  'user-to-paid',
]

/** What the API says to questions that name nothing, and to charts of the past, by their addresses. */
export async function answersOf(call: Client, operations: readonly Described[]): Promise<Record<string, unknown>> {
  const plain = operations.filter(
    ({ method, path, parameters }) => method === 'GET' && !path.includes('{') && parameters.every(one => !one.required),
  )
  const paths = [...plain.map(({ path }) => path), ...CHARTS.map(code => `/v4/analytics/charts/${code}?${CHART_WINDOW}`)]
  const answers: Record<string, unknown> = {}
  for (const path of paths) {
    const { status, body } = await call('GET', path)
    if (status === 200) answers[path] = body
  }
  return answers
}

/** Where `after` lacks something of `before`, or says it otherwise. A later release may add fields, and nothing else. */
export function lostIn(before: unknown, after: unknown, at = ''): string[] {
  if (typeof before !== 'object' || before === null || typeof after !== 'object' || after === null)
    return Object.is(before, after) ? [] : [`${at}: ${JSON.stringify(before)} became ${JSON.stringify(after)}`]
  if (Array.isArray(before) && (!Array.isArray(after) || after.length !== before.length)) return [`${at}: another number of items`]
  return Object.entries(before).flatMap(([name, value]) => lostIn(value, (after as Record<string, unknown>)[name], `${at}.${name}`))
}
