// The load generator, the same for all sides, in its own process. Reads a job from stdin, writes figures to stdout:
// { url, seconds, connections, requests: [{ path, headers, method, body }] } -> { perSecond, p50, p95, p99, responses, failures }
// `[<id>]` in a body is another word in each request.
import { text } from 'node:stream/consumers'
import autocannon from 'autocannon'

const job = JSON.parse(await text(process.stdin))

const shuffled = list => {
  const copy = [...list]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    const swapped = copy[i]
    copy[i] = copy[j]
    copy[j] = swapped
  }
  return copy
}

// autocannon's own percentiles are whole milliseconds, which is too coarse here.
const times = []
const statuses = {}
const began = performance.now()
const measuring = autocannon({
  url: job.url,
  connections: job.connections,
  duration: job.seconds,
  idReplacement: job.requests.some(({ body }) => body?.includes('[<id>]')),
  // Each connection has its own order: in the same order, all would request the same page at the same moment.
  setupClient: client => client.setRequests(shuffled(job.requests)),
})
measuring.on('response', (_client, status, _bytes, ms) => {
  times.push(ms)
  statuses[status] = (statuses[status] ?? 0) + 1
})
const result = await measuring
const seconds = (performance.now() - began) / 1000
times.sort((a, b) => a - b)
const at = share => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
const failures = Object.entries(statuses).filter(([status]) => status !== '200')
if (result.errors + result.timeouts > 0) failures.push(['no response', result.errors + result.timeouts])
console.log(
  JSON.stringify({ perSecond: times.length / seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99), responses: times.length, failures }),
)
process.exit(0)
