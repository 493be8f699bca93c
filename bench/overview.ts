import { seededFacts, startFigures, untilReplicaAnswers } from './facts.ts'
import { windowOf } from './figure-questions.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { measure } from './request-times.ts'
import { withResources } from './resources.ts'

/** What a page of an overview asks at once. */
const CHARTS = ['sales', 'proceeds', 'mrr', 'active-subscriptions', 'new-subscriptions', 'trial-to-paid', 'users-overview', 'refund-rate']

/**
 * Eight charts at once over HTTP by the replica, and one after the other by Postgres: at once they would wait there for longer than a request may
 * take, and be refused.
 */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 20)
    const facts = await seededFacts(resources)
    const replica = await startFigures(resources, facts.database, 'auto')
    const postgres = await startFigures(resources, facts.database, 'off')
    await untilReplicaAnswers(replica, facts)
    const paths = CHARTS.map(code => `/v4/analytics/charts/${code}?${windowOf(facts.end)}`)
    const timed = async (work: () => Promise<unknown>) => {
      const startedAt = performance.now()
      await work()
      return performance.now() - startedAt
    }
    const one = ({ url }: { url: string }, path: string) => measure(url, facts.tenant.secretKey, path, 1)
    const atOnce = () => timed(() => Promise.all(paths.map(path => one(replica, path))))
    const inTurn = () =>
      timed(async () => {
        for (const path of paths) await one(postgres, path)
      })
    const times: number[][] = [[], []]
    await atOnce()
    for (let n = 0; n < rounds; n++) times[0]!.push(await atOnce())
    say(`replica: ${times[0]!.map(ms => round(ms)).join(' ')} ms`)
    times[1]!.push(await inTurn())
    const [ours, peer] = times.map(all => median(all)) as [number, number]
    console.log(
      `${thousands(facts.transactions)} transactions, ${thousands(facts.changes)} changes; eight charts, 90 days by day and the 90 before, ${rounds} rounds`,
    )
    table(
      ['side', 'p50 ms', 'max ms'],
      times.map((all, i) => [
        i === 0 ? 'replica, at once' : 'Postgres, in turn',
        String(round(median(all))),
        String(round(Math.max(...all))),
      ]),
    )
    return { name: 'overview', ours: round(ours), peer: round(peer), ratio: round(ours / peer, 3), unit: 'ms' }
  })
