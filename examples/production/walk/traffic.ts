// Posts events at an even pace until it gets a SIGTERM. It is a load balancer and a patient client in one: it asks each address of a file twice a
// second whether it is ready, takes turns among those that are, and repeats a request that failed, under the same event ids. The file may change
// meanwhile. Each id that was acknowledged becomes a line of another file; at the end it says what it has seen, as shell variables.
//
//   KEY=sk_… node traffic.ts NAME ADDRESSES ACKNOWLEDGED
//
// KEY   the Secret Key of the project
import { appendFileSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'

const [name = '', addresses = '', acknowledged = ''] = process.argv.slice(2)
const { KEY } = process.env
const PERIOD_MS = 250
const BATCH = 5
const PEOPLE = 40
const GIVEN_UP_MS = 120_000

let isOver = false
process.on('SIGTERM', () => {
  isOver = true
})

const listed = () => readFileSync(addresses, 'utf8').split('\n').filter(Boolean)
/** Those that have answered 200. */
let ready: string[] = []
async function probe(): Promise<void> {
  const all = listed()
  const asked = all.map(url =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
      answer => answer.ok,
      () => false,
    ),
  )
  const answers = await Promise.all(asked)
  ready = all.filter((_, n) => answers[n])
}
async function watch(): Promise<void> {
  while (!isOver) {
    await probe()
    await pause(500)
  }
}

let [turn, sent, failed, longestMs] = [0, 0, 0, 0]
let lastFailure = ''

/** Resolves when all events of the batch are stored. */
async function post(events: object[]): Promise<void> {
  const began = performance.now()
  for (;;) {
    const failure = await attempt(events)
    if (failure === null) break
    if (failure !== '') {
      failed++
      lastFailure = failure
    }
    if (performance.now() - began > GIVEN_UP_MS)
      throw new Error(`no answer for ${GIVEN_UP_MS / 1000} s; the last one was ${lastFailure || 'none'}`)
    await pause(200)
  }
  longestMs = Math.max(longestMs, performance.now() - began)
}

/** null: done; '': nobody is ready, so nothing was sent; else why it failed. */
async function attempt(events: object[]): Promise<string | null> {
  // An address that was taken out gets nothing from that moment on.
  const now = listed()
  const open = ready.filter(one => now.includes(one))
  const url = open[turn++ % open.length]
  if (url === undefined) return ''
  try {
    const answer = await fetch(`${url}/v4/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ events }),
      signal: AbortSignal.timeout(30_000),
    })
    const text = await answer.text()
    if (!answer.ok) return `${answer.status} ${text}`
    const { results } = JSON.parse(text) as { results: { event_id: string; status: string }[] }
    const refused = results.find(({ status }) => status === 'rejected')
    if (refused) throw new Error(`an event was refused: ${text}`)
    appendFileSync(acknowledged, results.map(({ event_id }) => `${event_id}\n`).join(''))
    return null
  } catch (error) {
    if (error instanceof TypeError || (error as Error).name === 'TimeoutError') return String((error as Error).cause ?? error)
    throw error
  }
}

await probe()
void watch()
while (!isOver) {
  const began = performance.now()
  const happened_at = new Date().toISOString()
  const events = Array.from({ length: BATCH }, () => {
    const n = sent++
    return { event_id: `${name}-${n}`, event_name: 'walk.step', identity_id: `person-${n % PEOPLE}`, happened_at }
  })
  await post(events)
  await pause(Math.max(0, PERIOD_MS - (performance.now() - began)))
}
console.log(
  `acknowledged=${sent} failed=${failed} longest_ms=${Math.round(longestMs)} last_failure='${lastFailure.replaceAll(/[^ -&(-~]/g, ' ')}'`,
)
process.exit(0)
