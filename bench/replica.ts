import { readFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { to as copyTo } from 'pg-copy-streams'
import { seededFacts, startFigures, untilReplicaAnswers } from './facts.ts'
import { windowOf } from './figure-questions.ts'
import type { Running } from './process.ts'
import { openPool } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { measure } from './request-times.ts'
import { withResources } from './resources.ts'

const TABLES = ['user_facts', 'transaction_facts', 'subscription_changes']
const CHANGED = 1_000

/** Resident memory of a process, now and at most, in MB. */
function memoryOf({ pid }: Pick<Running, 'pid'>): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1])
  return { now: kilobytes('VmRSS') / 1000, most: kilobytes('VmHWM') / 1000 }
}

/** A replica from nothing, beside what Postgres takes to hand out the same rows; its memory; a question right after facts have changed. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 20)
    const facts = await seededFacts(resources)
    const pool = openPool(resources, facts.database, 2)
    const product = await startFigures(resources, facts.database, 'auto')
    const key = facts.tenant.secretKey
    const path = `/v4/analytics/charts/sales?${windowOf(facts.end)}`
    const before = memoryOf(product)
    const built = await untilReplicaAnswers(product, facts)
    await measure(product.url, key, path, rounds)
    const after = memoryOf(product)

    say('copying the rows to nowhere')
    const client = await pool.connect()
    const startedAt = performance.now()
    for (const name of TABLES)
      await pipeline(
        client.query(copyTo(`copy ${name} to stdout (format csv)`)),
        new Writable({ write: (_chunk, _encoding, done) => done() }),
      )
    const copied = performance.now() - startedAt
    client.release()

    const pulls: number[] = []
    for (let n = 0; n < rounds; n++) {
      await pool.query(
        `with next as (update fact_state set seq = seq + 1 where environment = $1 returning seq)
         update user_facts set seq = (select seq from next) where environment = $1 and generation = 1 and user_no in (
           select user_no from user_facts where environment = $1 and generation = 1 order by user_no offset $2 limit $3)`,
        [facts.tenant.environment, n * CHANGED, CHANGED],
      )
      pulls.push((await measure(product.url, key, path, 1)).times[0]!)
    }
    pulls.sort((a, b) => a - b)
    const rows = facts.transactions + facts.changes + facts.users
    console.log(
      `${thousands(rows)} rows: ${thousands(facts.transactions)} transactions, ${thousands(facts.changes)} changes, ${thousands(facts.users)} users`,
    )
    table(
      ['figure', ''],
      [
        ['replica from nothing, s', String(round(built / 1000, 1))],
        ['the same rows by COPY to nowhere, s', String(round(copied / 1000, 1))],
        ['memory of the process before, MB', String(round(before.now))],
        ['with the replica, MB', String(round(after.now))],
        ['at most, MB', String(round(after.most))],
        [`sales after ${thousands(CHANGED)} rows have changed, p50 ms`, String(round(pulls[pulls.length >> 1]!))],
      ],
    )
    return {
      ...{ name: 'replica', ours: round(built / 1000, 1), peer: round(copied / 1000, 1), ratio: round(built / copied, 2), unit: 's' },
      memory_above_mb: round(after.now - before.now),
    }
  })
