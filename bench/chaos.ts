import { setTimeout as sleep } from 'node:timers/promises'
import { APIS, type Installation, install, WORKERS } from './chaos/installation.ts'
import { EFFECTS, persist, postEvenly, receiveAt, untilNothingIsOutstanding } from './chaos/load.ts'
import { DRIVERS, type Driver } from './path/ours.ts'
import { flag, option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { sink } from './sink.ts'

/** Parts of the load between which the kills are spread: the tables are large by then, and few of them were analyzed. */
const [FIRST_KILL, LAST_KILL] = [0.2, 0.9]
/** Each part is killed so often. */
const KILLS = 2

/** Seconds: `drained` from the first event, `behind` from the last one, until nothing is outstanding. `ledger` in ms, right after the last event. */
type Times = { drained: number; behind: number; ledger: number; lost: number; twice: number }

/** Kills the parts in turn, evenly over the load: `passed` is told how much of it has been posted. */
function killer({ parts, kill }: Installation) {
  const plan = Array.from({ length: KILLS }, () => parts).flat()
  const at = plan.map((part, n) => ({ part, from: FIRST_KILL + ((LAST_KILL - FIRST_KILL) * n) / plan.length }))
  let going: Promise<void> = Promise.resolve()
  return {
    passed(done: number) {
      while (at.length > 0 && at[0]!.from <= done) {
        const { part } = at.shift()!
        going = going.then(() => {
          say(`  kill -9 of ${part}`)
          return kill(part)
        })
      }
    },
    ended: () => going,
  }
}

async function measure(resources: Resources, driver: Driver, isDisturbed: boolean): Promise<Times> {
  const [events, seconds] = [option('events', 6_000), option('seconds', 60)]
  const installation = await install(resources, driver === 'BullMQ')
  const received = new Map<string, number>()
  const address = await sink(resources, (id, path) => received.set(path + id, (received.get(path + id) ?? 0) + 1))
  await receiveAt(installation.call, address)
  say(`${driver}, ${isDisturbed ? 'with kills' : 'undisturbed'}`)
  const began = performance.now()
  const kills = isDisturbed ? killer(installation) : undefined
  await postEvenly(installation.call, events, seconds, done => kills?.passed(done))
  const posted = performance.now()
  await kills?.ended()
  const beforeLedger = performance.now()
  await persist(installation.call, 'GET', '/v4/ledger')
  const ledger = performance.now() - beforeLedger
  await untilNothingIsOutstanding(installation.pool)
  const ended = performance.now()
  // Whoever would send twice has the time to do it.
  await sleep(1_000)
  await installation.end()
  const sent = [...received].filter(([key]) => key.includes('go-'))
  const twice = sent.filter(([, count]) => count > 1).length
  return { drained: (ended - began) / 1_000, behind: (ended - posted) / 1_000, ledger, lost: EFFECTS * events - sent.length, twice }
}

/** How long the effects of a steady load take while every part is killed in turn, beside the same undisturbed: nothing may be lost. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const drivers = flag('one-driver') ? DRIVERS.slice(1) : DRIVERS
    const measured: { driver: Driver; calm: Times; disturbed: Times }[] = []
    for (const driver of drivers)
      measured.push({ driver, calm: await measure(resources, driver, false), disturbed: await measure(resources, driver, true) })
    console.log(
      `${thousands(option('events', 6_000))} events in ${option('seconds', 60)} s, each a delivery and two runs with a webhook; ${APIS} API and ${WORKERS} worker processes; each part killed ${KILLS} times`,
    )
    const row = (name: string, { drained, behind, ledger, lost, twice }: Times) => [
      name,
      drained.toFixed(1),
      behind.toFixed(1),
      ledger.toFixed(0),
      String(lost),
      String(twice),
    ]
    table(
      ['', 'all done after, s', 'after the last event, s', 'ledger, ms', 'not received', 'received again'],
      measured.flatMap(({ driver, calm, disturbed }) => [row(`${driver}, undisturbed`, calm), row(`${driver}, with kills`, disturbed)]),
    )
    const ratioOf = ({ calm, disturbed }: (typeof measured)[number]) => disturbed.drained / calm.drained
    const worst = measured.reduce((x, y) => (ratioOf(y) > ratioOf(x) ? y : x))
    return {
      name: 'chaos',
      ours: round(worst.disturbed.drained, 1),
      peer: round(worst.calm.drained, 1),
      ratio: round(ratioOf(worst), 2),
      unit: 's',
      driver: worst.driver,
      lost: measured.reduce((sum, { calm, disturbed }) => sum + calm.lost + disturbed.lost, 0),
    }
  })
