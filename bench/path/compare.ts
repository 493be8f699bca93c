import { startRedis } from '../../test/harness/redis.ts'
import { durability, newDatabase } from '../database.ts'
import { flag, median, option, type Result, round, say, table, thousands } from '../report.ts'
import { withResources } from '../resources.ts'
import { DRIVERS, type Driver, type Measured, PEOPLE, type Rate, startOurs, type Way } from './ours.ts'
import { type PeerRate, type Side, startPeers, startReceiver } from './peers.ts'

const middle = <R>(rates: R[], of: (rate: R) => number): number => median(rates.map(of))

/**
 * One way of an event to its receiver, beside bare workers and, for automations, the same rows by hand. All sides take turns, round by round,
 * while the others stand still, and each begins its turn with events that do not count: what has stood still is slower at first. The ratio is
 * that of the worse driver to its own bare worker, each by the median of its rounds.
 */
export const compare = (name: string, way: Way, waiting: number): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 3)
    const events = option('events', 10_000)
    const again = Math.ceil(events / 2)
    const integrations = option('integrations', 1)
    const workers = option('workers', 1)
    const receiver = await startReceiver(resources)
    const database = await newDatabase(resources)
    const redis = await startRedis()
    resources.undo(() => redis.end())
    const peers = await startPeers(resources, database, redis.url, receiver)
    const sides: Side[] = way === 'automate' ? ['pg-boss', 'BullMQ', 'by hand'] : ['pg-boss', 'BullMQ']
    for (const side of sides) await peers.round(side, PEOPLE)
    peers.pause()
    const drivers = flag('one-driver') ? DRIVERS.slice(1) : DRIVERS
    const measured = new Map<Driver, Measured>()
    for (const driver of drivers) {
      const one = await startOurs(resources, { driver, way, integrations, workers, waiting }, receiver)
      await one.round(PEOPLE)
      one.pause()
      measured.set(driver, one)
    }
    const ours = new Map<Driver, Rate[]>(drivers.map(driver => [driver, []]))
    const theirs = new Map<Side, PeerRate[]>(sides.map(side => [side, []]))
    for (let n = 1; n <= rounds; n++) {
      say(`round ${n}`)
      peers.resume()
      for (const side of sides) {
        await peers.round(side, again)
        theirs.get(side)!.push(await peers.round(side, events))
      }
      peers.pause()
      for (const [driver, one] of measured) {
        one.resume()
        await one.round(again)
        ours.get(driver)!.push(await one.round(events))
        one.pause()
      }
    }
    for (const one of measured.values()) {
      one.resume()
      await one.finish()
    }
    const rateOf = (side: Side) => middle(theirs.get(side)!, ({ rate }) => rate)
    const ratioTo = (driver: Driver, side: Side) => middle(ours.get(driver)!, ({ rate }) => rate) / rateOf(side)
    console.log(
      `${thousands(events)} events a round, ${rounds} rounds; ${integrations} integrations, ${workers} workers, ${thousands(waiting)} runs waiting; ${await durability(database)}`,
    )
    table(
      ['', 'events/s', '× bare', 'Node, ms an event', 'Postgres, ms an event', 'waits for locks; in memory, %'],
      [
        ...sides.map(side => [
          side === 'by hand' ? 'the same rows by hand' : `bare ${side}`,
          thousands(rateOf(side)),
          '',
          middle(theirs.get(side)!, ({ node }) => node).toFixed(2),
          '',
          '',
        ]),
        ...drivers.map(driver => [
          `Perennial over ${driver}`,
          thousands(middle(ours.get(driver)!, ({ rate }) => rate)),
          ratioTo(driver, driver).toFixed(2),
          middle(ours.get(driver)!, ({ node }) => node).toFixed(2),
          middle(ours.get(driver)!, ({ postgres }) => postgres).toFixed(2),
          `${middle(ours.get(driver)!, ({ locks }) => locks).toFixed(1)}; ${middle(ours.get(driver)!, ({ light }) => light).toFixed(1)}`,
        ]),
      ],
    )
    const worst = drivers.map(driver => ({ driver, ratio: ratioTo(driver, driver) })).reduce((x, y) => (y.ratio < x.ratio ? y : x))
    return {
      name,
      ours: round(middle(ours.get(worst.driver)!, ({ rate }) => rate)),
      peer: round(rateOf(worst.driver)),
      ratio: round(worst.ratio, 2),
      unit: 'events/s',
      driver: worst.driver,
      ...(way === 'automate' && { to_by_hand: round(ratioTo(worst.driver, 'by hand'), 2) }),
    }
  })
