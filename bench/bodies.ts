import { newDatabase } from './database.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { median, option, type Result, round, table } from './report.ts'
import { withResources } from './resources.ts'
import { event } from './sink.ts'

const TOKEN = 'a-token-for-the-metrics'

const LIMIT_MS = 50
/** Of an accepted body of 8 MiB. */
const LIMIT_ACCEPTED_MS = 300

type Body = { what: string; path: string; json: string; status: number; limitMs: number }

const list = (length: number, one: (n: number) => string) => Array.from({ length }, (_, n) => one(n)).join(',')
const fill = (bytes: number) => 'x'.repeat(bytes)

/** A thousand events of 7.5 KiB, with a hundred properties each. */
function fullBatch(round: number): string {
  const properties = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`property_${n}`, fill(50)]))
  return JSON.stringify({
    events: Array.from({ length: 1_000 }, (_, n) => ({ ...event('filled', `${round}-${n}`, `user-${n}`), properties })),
  })
}

function bodies(round: number): Body[] {
  const refused = (what: string, path: string, json: string): Body => ({ what, path, json, status: 400, limitMs: LIMIT_MS })
  const batch = fullBatch(round)
  return [
    refused('1 MiB of nested lists', '/v4/users', `[${'[],'.repeat(349_000)}[]]`),
    refused(
      '1 MiB, 20,000 unknown fields',
      '/v4/users',
      `{"a":{${list(4_900, n => `"${n}":1`)}},${list(4_900, n => `"b${n}":"${fill(150)}"`)}}`,
    ),
    refused('1 MiB, 49,000 wrong items', '/v4/entitlements', `{"product_ids":[${list(49_000, () => '{}')}]}`),
    refused('8 MiB, four million lists', '/v4/events', `{"events":[${'[],'.repeat(2_700_000)}[]]}`),
    refused('8 MiB, 600,000 keys', '/v4/events', `{${list(600_000, n => `"${n}":1`)}}`),
    refused('8 MiB, a thousand wrong events', '/v4/events', `{"events":[${list(1_000, n => `{"event_id":${n},"x":"${fill(7_500)}"}`)}]}`),
    refused('8 MiB, cut short', '/v4/events', batch.slice(0, -1)),
    refused('8 MiB, a key twice', '/v4/events', `${batch.slice(0, -1)},"events":[]}`),
    { what: '8 MiB, a thousand events', path: '/v4/events', json: batch, status: 200, limitMs: LIMIT_ACCEPTED_MS },
  ]
}

/** How long one request holds up the others, by its body. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const database = await newDatabase(resources)
    const [tenant] = await createTenants(openPool(resources, database), 1)
    const api = await startProduct(resources, database, 'api', { LOG_LEVEL: 'error', METRICS_TOKEN: TOKEN })
    const delayMs = async () => {
      const metrics = await (await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text()
      return Number(/^perennial_event_loop_delay_seconds (\S+)$/m.exec(metrics)![1]) * 1000
    }
    const delays = new Map<string, { limitMs: number; all: number[] }>()
    const rounds = option('rounds', 5)
    // The first round warms up.
    for (let n = 0; n <= rounds; n++) {
      for (const { what, path, json, status, limitMs } of bodies(n)) {
        await delayMs()
        const answer = await fetch(api.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${tenant!.secretKey}`, 'content-type': 'application/json' },
          body: json,
        })
        if (answer.status !== status) throw new Error(`${what}: ${answer.status} ${(await answer.text()).slice(0, 300)}`)
        await answer.arrayBuffer()
        const delay = await delayMs()
        const known = delays.get(what) ?? { limitMs, all: [] }
        if (n > 0) known.all.push(delay)
        delays.set(what, known)
      }
    }
    await api.stop()
    const rows = [...delays].map(([what, { limitMs, all }]) => ({ what, limitMs, ms: median(all), most: Math.max(...all) }))
    table(
      ['body', 'held up, ms (median)', 'the longest', 'limit'],
      rows.map(({ what, ms, most, limitMs }) => [what, ms.toFixed(0), most.toFixed(0), String(limitMs)]),
    )
    const worst = rows.reduce((one, other) => (other.ms / other.limitMs > one.ms / one.limitMs ? other : one))
    return {
      name: 'bodies',
      ours: round(worst.ms),
      peer: worst.limitMs,
      ratio: round(worst.ms / worst.limitMs, 2),
      unit: 'ms',
      worst: worst.what,
    }
  })
