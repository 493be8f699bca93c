import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../store/connect.ts'
import { EFFECTS, postEvenly, receiveAt, untilNothingIsOutstanding } from './chaos/load.ts'
import { METRICS_TOKEN, seededFacts, untilReplicaAnswers } from './facts.ts'
import { windowOf } from './figure-questions.ts'
import { processorSeconds } from './path/cpu.ts'
import { residentMemory } from './path/memory.ts'
import { serverPid } from './path/server-pid.ts'
import { openPool, type Product, startProduct } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { withResources } from './resources.ts'
import { caller, sink } from './sink.ts'

/** Of an API process whose figures are computed elsewhere. */
const MOST_MB = 150
const RATES = [50, 200, 500]
const DAY = 86_400
const CHARTS = ['sales', 'mrr', 'active-subscriptions', 'users-overview']

type Parts = { api: Product; worker: Product; analytics: Product }
type Name = keyof Parts
const NAMES: Name[] = ['api', 'worker', 'analytics']

/** At a rate: the most memory of each in MB, processor time as a share of one processor, bytes of the database an event, seconds until all was done. */
type Step = { rate: number; memory: Record<Name, number>; busy: Record<Name | 'postgres', number>; bytes: number; seconds: number }

async function sizeOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ size: string }>('select pg_database_size(current_database()) as size')
  return Number(rows[0]!.size)
}

/** What each kind of process and the database need at several paces of events, while somebody looks at charts. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const seconds = option('seconds', 60)
    const facts = await seededFacts(resources)
    const pool = openPool(resources, facts.database, 2)
    const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error', METRICS_TOKEN }
    const analytics = await startProduct(resources, facts.database, 'analytics', env)
    const api = await startProduct(resources, facts.database, 'api', { ...env, ANALYTICS_URL: analytics.url })
    const parts: Parts = { analytics, api, worker: await startProduct(resources, facts.database, 'worker', env) }
    const call = caller(api.url, facts.tenant.secretKey)
    await receiveAt(call, await sink(resources, () => {}))
    await untilReplicaAnswers(analytics, facts, undefined, api)
    const postgres = await serverPid(resources)
    const pids = { api: api.pid, worker: parts.worker.pid, analytics: analytics.pid, ...(postgres !== null && { postgres }) }

    const steps: Step[] = []
    for (const rate of RATES) {
      const memory: Record<Name, number> = { api: 0, worker: 0, analytics: 0 }
      let isOver = false
      const looking = (async () => {
        for (let n = 0; !isOver; n++) {
          await call('GET', `/v4/analytics/charts/${CHARTS[n % CHARTS.length]}?${windowOf(facts.end)}`)
          for (const name of NAMES) memory[name] = Math.max(memory[name], await residentMemory(pids[name]))
          await sleep(1_000)
        }
      })()
      const before = { size: await sizeOf(pool), cpu: await used(pids) }
      const began = performance.now()
      const events = rate * seconds
      await postEvenly(call, events, seconds, () => {}, `at-${rate}`)
      await untilNothingIsOutstanding(pool)
      const took = (performance.now() - began) / 1_000
      const cpu = await used(pids)
      isOver = true
      await looking
      const busy = Object.fromEntries(Object.entries(cpu).map(([name, now]) => [name, (now - before.cpu[name]!) / took])) as Step['busy']
      steps.push({ rate, memory, busy, bytes: ((await sizeOf(pool)) - before.size) / events, seconds: took })
      say(JSON.stringify(steps.at(-1)))
    }
    show(steps, seconds)
    const ours = Math.max(...steps.map(({ memory }) => memory.api))
    return { name: 'sizing', ours: round(ours), peer: MOST_MB, ratio: round(ours / MOST_MB, 2), unit: 'MB' }
  })

async function used(pids: Record<string, number>): Promise<Record<string, number>> {
  return Object.fromEntries(await Promise.all(Object.entries(pids).map(async ([name, pid]) => [name, await processorSeconds([pid])])))
}

function show(steps: Step[], seconds: number): void {
  const percent = (share: number | undefined) => (share === undefined ? '–' : String(round(share * 100)))
  console.log(`${EFFECTS} effects an event, a chart each second; ${seconds} s at each pace; of one processor, %; MB at most`)
  table(
    ['events/s', 'a day', 'API, %', 'MB', 'worker, %', 'MB', 'analytics, %', 'MB', 'Postgres, %', 'bytes an event', 'all done, s'],
    steps.map(({ rate, memory, busy, bytes, seconds }) => [
      String(rate),
      thousands(rate * DAY),
      ...NAMES.flatMap(name => [percent(busy[name]), String(round(memory[name]))]),
      percent(busy.postgres),
      thousands(bytes),
      String(round(seconds)),
    ]),
  )
}
