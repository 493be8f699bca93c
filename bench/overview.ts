import { ask } from './ask.ts'
import { seededFacts, startFigures, untilReplicaAnswers } from './facts.ts'
import { windowOf } from './figure-questions.ts'
import { median, option, type Result, round, table, thousands } from './report.ts'
import { withResources } from './resources.ts'

/** What a page of an overview asks at once. */
const CHARTS = ['sales', 'proceeds', 'mrr', 'active-subscriptions', 'new-subscriptions', 'trial-to-paid', 'users-overview', 'refund-rate']

/** Eight charts at once over HTTP, by the replica and by Postgres. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 20)
    const facts = await seededFacts(resources)
    const sides = [await startFigures(resources, facts.database, 'auto'), await startFigures(resources, facts.database, 'off')]
    await untilReplicaAnswers(sides[0]!, facts)
    const page = async (url: string) => {
      const startedAt = performance.now()
      const paths = CHARTS.map(code => `/v4/analytics/charts/${code}?${windowOf(facts.end)}`)
      await Promise.all(paths.map(path => ask(url, facts.tenant.secretKey, path, 1)))
      return performance.now() - startedAt
    }
    const times: number[][] = [[], []]
    await page(sides[0]!.url)
    for (let n = 0; n < rounds; n++) times[0]!.push(await page(sides[0]!.url))
    for (let n = 0; n < Math.min(rounds, 2); n++) times[1]!.push(await page(sides[1]!.url))
    const [ours, peer] = times.map(all => median(all)) as [number, number]
    console.log(
      `${thousands(facts.transactions)} transactions, ${thousands(facts.changes)} changes; eight charts at once, 90 days by day and the 90 before, ${rounds} rounds`,
    )
    table(
      ['side', 'p50 ms', 'max ms'],
      times.map((all, i) => [i === 0 ? 'replica' : 'Postgres', String(round(median(all))), String(round(Math.max(...all)))]),
    )
    return { name: 'overview', ours: round(ours), peer: round(peer), ratio: round(ours / peer, 3), unit: 'ms' }
  })
