import { startRedis } from '../test/harness/redis.ts'
import { durability, newDatabase } from './database.ts'
import { DRIVERS, type Driver } from './path/ours.ts'
import { createTenants, openPool } from './product.ts'
import { flag, median, option, type Result, round, say, table, thousands } from './report.ts'
import { startByHand } from './report-files/by-hand.ts'
import { ourRound, type Round, startReceiver } from './report-files/ours.ts'
import { seedReports } from './report-files/seed.ts'
import { withResources } from './resources.ts'
import { seedEvents, seedMs, seedUsers } from './seed.ts'

const TENANTS = 100
const USERS = 1_000
/** Every file has its tenant's events: a hundred of them, unless there are fewer tenants. */
const EVENTS = 10_000
/** Each takes a day for each driver, and the windows of a week have all events. */
const MOST_ROUNDS = 3

/**
 * Reports of many projects whose slots are due at the same moment; each file is announced to a webhook on this machine. Beside it the same rows
 * by hand. A round is the slots of one day, once over each driver.
 */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const reports = option('reports', 10_000)
    const rounds = Math.min(option('rounds', 1), MOST_ROUNDS)
    const drivers = flag('one-driver') ? DRIVERS.slice(1) : DRIVERS
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const tenants = await createTenants(pool, Math.min(TENANTS, reports))
    await seedUsers(
      pool,
      tenants.map(({ environment }) => environment),
      USERS,
    )
    // Received until just now: the windows of the next days have all of them.
    await seedEvents(pool, USERS, 0, EVENTS, new Date(Date.now() - seedMs(EVENTS)))
    const receiver = await startReceiver(resources)
    await seedReports(pool, tenants, { slug: 'webhooks', settings: { url: receiver.url, sandbox_url: receiver.url } }, reports)
    const redis = flag('one-driver') ? undefined : await startRedis()
    if (redis) resources.undo(() => redis.end())
    const envOf = (driver: Driver): Record<string, string> => (driver === 'BullMQ' && redis ? { REDIS_URL: redis.url } : {})
    const byHand = await startByHand(resources, pool, database, receiver.url)
    const hand: { seconds: number; node: number }[] = []
    const ours = new Map<Driver, Round[]>(drivers.map(driver => [driver, []]))
    for (let n = 1; n <= rounds; n++) {
      say(`round ${n}`)
      hand.push(await byHand.round())
      for (const driver of drivers) {
        say(`  over ${driver}`)
        ours.get(driver)!.push(await ourRound(resources, pool, { database, reports, env: envOf(driver) }, receiver))
      }
    }
    const middle = (driver: Driver, of: (one: Round) => number) => median(ours.get(driver)!.map(of))
    const handSeconds = median(hand.map(({ seconds }) => seconds))
    const worst = drivers.reduce((x, y) => (middle(y, one => one.delivered) > middle(x, one => one.delivered) ? y : x))
    console.log(`${thousands(reports)} slots of ${tenants.length} projects at one moment, one worker; ${await durability(database)}`)
    table(
      ['', 'last start, s', 'last file, s', 'Node, ms a report', 'Postgres, ms a report'],
      [
        ['the same rows by hand', '', round(handSeconds, 1).toString(), median(hand.map(({ node }) => node)).toFixed(2), ''],
        ...drivers.map(driver => [
          `Perennial over ${driver}`,
          String(middle(driver, one => one.started)),
          round(
            middle(driver, one => one.delivered),
            1,
          ).toString(),
          middle(driver, one => one.node).toFixed(2),
          middle(driver, one => one.postgres).toFixed(2),
        ]),
      ],
    )
    return {
      name: 'report-files',
      ours: round(
        middle(worst, one => one.delivered),
        1,
      ),
      peer: round(handSeconds, 1),
      ratio: round(handSeconds / middle(worst, one => one.delivered), 2),
      unit: 's',
      driver: worst,
      last_start: Math.max(...drivers.flatMap(driver => ours.get(driver)!.map(({ started }) => started))),
    }
  })
