import { durability } from './database.ts'
import { seededFacts, startFigures, untilReplicaAnswers } from './facts.ts'
import { figureQuestions } from './figure-questions.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { measure, p50, p95 } from './request-times.ts'
import { withResources } from './resources.ts'

/** What depends on the moment of the answer. */
const essence = (body: string): string => body.replaceAll(/"(?:as_of|incomplete_from)":(?:\d+|null),?/g, '')

/** What is known now of a recent fact changes from second to second: both are asked at once, up to three times. */
async function compareAgain(urls: string[], key: string, path: string): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const answers = await Promise.all(urls.map(url => measure(url, key, path, 1)))
    if (new Set(answers.map(({ body }) => essence(body))).size === 1) return
  }
  throw new Error(`the replica and Postgres give different answers: ${path}`)
}

/** Every kind of figure by the replica and by Postgres, on the same facts, one question at a time. Fails when two answers differ. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 20)
    const peerRounds = option('peer-rounds', 2)
    const visits = option('visits', 6_000_000)
    const facts = await seededFacts(resources, visits)
    const ours = await startFigures(resources, facts.database, 'auto')
    const peer = await startFigures(resources, facts.database, 'off')
    await untilReplicaAnswers(ours, facts)
    const copied = await untilReplicaAnswers(ours, facts, 'arpu')
    const key = facts.tenant.secretKey
    const rows: string[][] = []
    const worst = { name: '', ours: 0, peer: 0 }
    // A stock needs the snapshot of its month, which is made once, after the answer.
    for (const { path } of figureQuestions(facts.end)) await measure(ours.url, key, path, 1)
    for (const { name, path } of figureQuestions(facts.end)) {
      say(name)
      await measure(ours.url, key, path, 2)
      const fast = await measure(ours.url, key, path, rounds)
      const slow = await measure(peer.url, key, path, peerRounds)
      if (essence(fast.body) !== essence(slow.body)) await compareAgain([ours.url, peer.url], key, path)
      rows.push([name, ...[p50(fast), p95(fast), p50(slow)].map(ms => String(round(ms))), thousands(fast.bytes)])
      if (p95(fast) > worst.ours) Object.assign(worst, { name, ours: p95(fast), peer: p50(slow) })
    }
    console.log(
      `${thousands(facts.transactions)} transactions, ${thousands(facts.changes)} changes, ${thousands(facts.users)} users, ${thousands(visits)} events; 90 days by day and the 90 before,`,
    )
    console.log(`after the first question for ARPU the log is copied in ${round(copied / 1000)} s`)
    console.log(`every currency converted, ${rounds} rounds; equal to the last digit. ${await durability(facts.database)}`)
    table(['figure', 'replica p50 ms', 'p95 ms', 'Postgres p50 ms', 'bytes'], rows)
    const { ours: slowest, peer: beside, name } = worst
    return {
      name: 'charts',
      ours: round(slowest),
      peer: round(beside),
      ratio: round(slowest / beside, 3),
      unit: 'ms, p95 of the slowest',
      figure: name,
    }
  })
