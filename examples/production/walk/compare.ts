// Compares what the service has acknowledged with what the receiver has got: each event once as an event, and once from the run that it started.
// Waits until nothing is missing, for so many seconds at most; says what there is, as shell variables; ends with 1 when something is lost or came twice.
//
//   node compare.ts ACKNOWLEDGED RECEIVED SECONDS
//
// lost      events of which the receiver has no webhook
// twice     events that have come under two ids: a receiver cannot know that they are one
// repeated  webhooks that have come again under the id that they had: a receiver drops them
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'

const [acknowledged = '', received = '', seconds] = process.argv.slice(2)
const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').filter(Boolean)
const WAYS = ['/events', '/runs']

function compared() {
  // A request that failed may have been stored, and its repetition is acknowledged as well.
  const events = new Set(linesOf(acknowledged))
  const webhooks = linesOf(received).map(line => JSON.parse(line) as { id: string; path: string; body: { event_id: string } })
  const about = ({ path, body }: (typeof webhooks)[number]) => `${path} ${body.event_id}`
  const known = webhooks.filter(({ path, body }) => WAYS.includes(path) && events.has(body.event_id))
  const idsOf = new Map([...Map.groupBy(known, about)].map(([key, some]) => [key, new Set(some.map(({ id }) => id))]))
  const ids = new Set(known.map(({ id }) => id))
  return {
    events: events.size,
    webhooks: ids.size,
    lost: [...events].flatMap(event => WAYS.filter(path => !idsOf.has(`${path} ${event}`))).length,
    twice: [...idsOf.values()].filter(some => some.size > 1).length,
    repeated: known.length - ids.size,
  }
}

const end = performance.now() + Number(seconds) * 1000
let result = compared()
while (result.lost > 0 && performance.now() < end) {
  await pause(250)
  result = compared()
}
console.log(
  Object.entries(result)
    .map(([name, value]) => `${name}=${value}`)
    .join(' '),
)
process.exitCode = result.lost + result.twice > 0 ? 1 : 0
