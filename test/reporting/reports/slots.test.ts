import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { sampled } from '../../harness/effort.ts'
import { item } from '../../harness/events.ts'
import { type Shown, sandbox, webhookTo } from '../../harness/reports.ts'
import { type Sink, startSink } from '../../harness/sink.ts'

let api: TestApi
let sink: Sink
beforeAll(async () => {
  api = await startApi({ worker: true })
  sink = await startSink()
})
afterAll(async () => {
  await api.stop()
  await sink.close()
})

const HOUR = 3_600_000
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
const berlin = (time: string) =>
  new Date(time).toLocaleString('sv-SE', { timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' })

/** The transaction ids of a delivered file. */
async function idsIn({ file_url }: { file_url: string }): Promise<string[]> {
  const text = await (await fetch(file_url)).text()
  return (parse(text, { columns: true }) as Record<string, string>[]).map(row => row['Transaction ID']!)
}

/** A sandbox of its own, with its clock on the eve of the transition. */
async function eveOf(transition: string) {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  // Two years ahead are two advances.
  const to = iso(Date.parse(transition) - 3 * 24 * HOUR)
  const half = iso((Date.parse(await box.now()) + Date.parse(to)) / 2)
  for (const target of [half, to]) if (target > (await box.now())) await box.advance({ to: target })
  return { box, project }
}

const YEAR = new Date().getUTCFullYear() + 1
const lastSunday = (month: number) => {
  const last = new Date(Date.UTC(YEAR, month + 1, 0))
  return iso(last.getTime() - last.getUTCDay() * 24 * HOUR + HOUR)
}

const TRANSITIONS: [string, string, string, string, number][] = [
  ['March', lastSunday(2), '09:00', 'first', 0],
  ['October', lastSunday(9), '09:00', 'first', 0],
  ['March, within the gap', lastSunday(2), '02:30', 'first', 0],
  ['October, at both times', lastSunday(9), '02:30', 'both', 1],
]

test.each(sampled(TRANSITIONS))(
  'across the transition in %s every event is in exactly one daily file',
  async (_name, transition, send_at, on_dst_overlap, more) => {
    const { box, project } = await eveOf(transition)
    const from = sink.arrived.length
    const target = await webhookTo(api, sink.url, project.sandboxEnvironment)
    const report = await box.create([target], { timezone: 'Europe/Berlin', send_at, on_dst_overlap })
    const posted: string[] = []
    let n = 0
    // One of these moments is the transition itself.
    for (let at = Date.parse(transition) - 13 * 5.5 * HOUR; at < Date.parse(transition) + 3 * 24 * HOUR; at += 5.5 * HOUR) {
      await box.advance({ to: iso(at) })
      const events = Array.from({ length: 3 }, () => item({ identity_id: `u${n % 7}`, transaction: { transaction_id: `t${n++}` } }))
      posted.push(...events.map(event => (event.transaction as { transaction_id: string }).transaction_id))
      await box.good('POST', '/v4/events', { events })
    }
    await box.advance({ by: 'P1D' })

    const runs: Shown[] = (await box.runsOf(report.id)).reverse()
    expect(runs.map(run => run.outcome)).toEqual(runs.map(run => (run.rows === 0 ? 'empty' : 'delivered')))
    expect(runs.length).toBeGreaterThanOrEqual(6)
    // One slot a date, at its time on the clocks of Berlin.
    const days = runs.map(run => berlin(run.slot).slice(0, 10))
    expect(new Set(days).size).toBe(runs.length - more)
    const shifted = runs.filter(run => berlin(run.slot).slice(11) !== send_at)
    expect(shifted.map(run => berlin(run.slot).slice(11))).toEqual(send_at === '02:30' && transition.includes('-03-') ? ['03:30'] : [])
    for (const run of runs) {
      expect(run.late_by_seconds).toBeLessThan(60)
      expect(run.window_to).toBe(run.slot)
    }
    for (let i = 1; i < runs.length; i++) expect(runs[i].window_from).toBe(runs[i - 1].slot)
    // Each delivered once; each event in one file, whose lines are as many as was told.
    const received = sink.arrived.slice(from)
    expect(received.map(({ body }) => body.run_id)).toEqual(runs.map(run => run.id))
    const files = await Promise.all(received.map(({ body }) => idsIn(body)))
    expect(files.map(ids => ids.length)).toEqual(received.map(({ body }) => body.rows))
    expect(files.flat().sort()).toEqual([...posted].sort())
    expect((await box.good('GET', report.url)).runs).toBe(runs.length)
  },
  120_000,
)
