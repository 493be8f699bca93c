import { durability, newDatabase } from './database.ts'
import { type Figures, generate } from './load/generate.ts'
import { seedCallers } from './mcp-call/callers.ts'
import { checkAnswers, type Read, requestsOf, SIDES, type SideName } from './mcp-call/requests.ts'
import { measureSignIns } from './mcp-call/sign-in.ts'
import { processorSeconds } from './path/cpu.ts'
import { serverPid } from './path/server-pid.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { median, option, type Result, round, say, table, thousands } from './report.ts'
import { withResources } from './resources.ts'
import { seedEvents, seedUsers } from './seed.ts'

const USERS = 1_000
const EVENTS = 20_000
const CALLERS = 2_000
const CONNECTIONS = [1, 16]
const SIGN_INS = 20
/** A sign-in that holds the event loop up for this part of its time was computed there. */
const MOST_HELD_UP = 0.5
const TOKEN = 'a-token-of-the-figures'

/** With the processor time of one call, in milliseconds. */
type Seen = Figures & { api: number; postgres: number }

/** Two reads of each kind of caller in turns: one row, and a page of twenty. Then sign-ins. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const rounds = option('rounds', 5)
    const seconds = option('seconds', 4)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const [tenant] = await createTenants(pool, 1)
    const users = await seedUsers(pool, [tenant!.environment], USERS)
    await seedEvents(pool, USERS, 0, EVENTS)
    const callers = await seedCallers(pool, tenant!, CALLERS)
    const { url, pid } = await startProduct(resources, database, 'api', { METRICS_TOKEN: TOKEN, LOG_LEVEL: 'error' })
    const postgres = await serverPid(resources)
    const spent = async () => ({ api: await processorSeconds([pid]), postgres: postgres === null ? 0 : await processorSeconds([postgres]) })
    const reads: Read[] = [
      {
        name: 'a user',
        tool: 'get_user',
        of: n => ({ path: `/v4/users/${users[n % USERS]}`, arguments: { user_id: users[n % USERS] } }),
      },
      {
        name: 'a page of 20 events',
        tool: 'list_events',
        of: n => ({ path: `/v4/events?limit=20&offset=${n}`, arguments: { limit: 20, offset: n } }),
      },
    ]
    for (const read of reads) await checkAnswers(url, read, callers)
    const cases = reads.flatMap(read => CONNECTIONS.map(connections => ({ read, connections, seen: seenOf() })))
    for (let n = 0; n <= rounds; n++)
      for (const { read, connections, seen } of cases)
        for (const side of SIDES) {
          const requests = requestsOf(side, read, callers)
          const before = await spent()
          const figures = await generate(resources, { url, seconds: n === 0 ? 1 : seconds, connections, requests })
          const after = await spent()
          const each = (of: keyof typeof after) => ((after[of] - before[of]) * 1000) / figures.responses
          if (n > 0) seen[side].push({ ...figures, api: each('api'), postgres: each('postgres') })
          say(
            `  ${n === 0 ? 'warming up' : `round ${n}`}: ${side}, ${read.name}, ${connections} at once: ${thousands(figures.perSecond)} /s`,
          )
        }
    const signIns = await measureSignIns(pool, url, TOKEN, SIGN_INS)

    console.log(
      `Reads through the MCP server and over HTTP, ${thousands(CALLERS)} grants and named keys, ${rounds} rounds of ${seconds} s,`,
    )
    console.log(await durability(database))
    const rows = cases.flatMap(({ read, connections, seen }) => {
      const of = (side: SideName, what: keyof Seen) => median(seen[side].map(figures => figures[what]))
      return SIDES.map(side => ({
        what: `${read.name}, ${connections} at once: ${side}`,
        side,
        perSecond: of(side, 'perSecond'),
        overHttp: of('HTTP', 'perSecond'),
        p50: of(side, 'p50'),
        processor: `${of(side, 'api').toFixed(2)}; ${of(side, 'postgres').toFixed(2)}`,
        // By rounds, because the speed of the machine changes by the minute.
        ratio: median(seen[side].map(({ perSecond }, n) => perSecond / seen.HTTP[n]!.perSecond)),
      }))
    })
    table(
      ['', 'calls/s', 'p50 ms', 'API; Postgres, ms a call', 'of HTTP'],
      rows.map(({ what, perSecond, p50, processor, ratio }) => [what, thousands(perSecond), p50.toFixed(2), processor, ratio.toFixed(2)]),
    )
    console.log(
      `Sign-in with a password: p50 ${signIns.p50.toFixed(0)} ms, longest ${signIns.longest.toFixed(0)} ms; the event loop is held up for ${signIns.heldUp.toFixed(1)} ms meanwhile, ${signIns.idle.toFixed(1)} ms without`,
    )
    if (signIns.heldUp > signIns.p50 * MOST_HELD_UP) throw new Error('sign-ins hold up the event loop')
    const worst = rows.filter(({ side }) => side !== 'HTTP').sort((a, b) => a.ratio - b.ratio)[0]!
    return {
      name: 'mcp-call',
      ours: round(worst.perSecond),
      peer: round(worst.overHttp),
      ratio: round(worst.ratio, 2),
      unit: 'calls/s',
      signInMs: round(signIns.p50),
      heldUpMs: round(signIns.heldUp, 1),
    }
  })

const seenOf = () => Object.fromEntries(SIDES.map(side => [side, [] as Seen[]])) as Record<SideName, Seen[]>
