import { monitorEventLoopDelay } from 'node:perf_hooks'
import { SMTPServer } from 'smtp-server'
import { consoleDrawing } from '../app/console/drawing.ts'
import type { DrawnChart } from '../domain/reporting/reports/chart-drawing.ts'
import type { ReportChart } from '../domain/reporting/reports/chart-window.ts'
import type { ReportInput } from '../domain/reporting/reports/report.ts'
import { durability, newDatabase } from './database.ts'
import { createTenants, openPool } from './product.ts'
import { flag, median, option, type Result, round, say, table, thousands } from './report.ts'
import { ourRound, type Receiver } from './report-files/ours.ts'
import { seedReports } from './report-files/seed.ts'
import { type Resources, withResources } from './resources.ts'
import { seedFacts } from './seed-facts.ts'

const TENANTS = 5
const USERS = 1_000
/** What a growth manager looks at on Mondays. */
const CHARTS: ReportChart[] = [
  { code: 'sales', query: { segmentation: 'country' }, name: null },
  { code: 'mrr', query: {}, name: null },
  { code: 'active-subscriptions', query: {}, name: null },
  { code: 'new-subscriptions', query: { segmentation: 'target_platform' }, name: null },
  { code: 'trial-to-paid', query: {}, name: null },
  { code: 'users-overview', query: {}, name: null },
]
const DRAWN = 60

/** A mail server on this machine that takes every mail, and remembers their ids. */
async function startMailSink(resources: Resources): Promise<Receiver & { port: number; bytes(): number }> {
  const ids = new Set<string>()
  let [requests, bytes] = [0, 0]
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData(stream, _session, done) {
      let head = ''
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (head.length < 4_000) head += chunk.toString('latin1')
      })
      stream.on('end', () => {
        requests++
        ids.add(/^message-id:\s*<(.*)>/im.exec(head)?.[1] ?? '')
        done()
      })
    },
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  resources.undo(() => new Promise<void>(resolve => server.close(() => resolve())))
  const { port } = server.server.address() as { port: number }
  return { url: '', port, ids, requests: () => requests, bytes: () => bytes }
}

/** One picture of twelve series and 31 days after the other in this process: ms each, and how long anything else waited. */
async function drawnHere(): Promise<{ each: number; longest: number; bytes: number }> {
  const data = Array.from({ length: 31 }, (_, i) => ({
    start_time: i * 86_400,
    end_time: (i + 1) * 86_400,
    value: 50 + (i % 7),
    partial: false,
  }))
  const series = Array.from({ length: 12 }, (_, n) => ({ label: `Country ${n}`, total: 1_600, totalPrev: 1_500, data, dataPrev: data }))
  const answer = {
    ...{ code: 'sales', from: 0, to: 31 * 86_400, unit: 'day', currency: 'USD', measure: 'usd', totalType: 'sum', series },
    ...{ seriesRelation: 'partsOfWhole', incomplete_from: null },
  }
  const chart = { figure: { title: 'Sales by country', filters: [], query: {}, answer }, zone: 'UTC', id: 'a' } as unknown as DrawnChart
  const drawing = consoleDrawing()
  const first = await drawing.png(chart)
  if (!first) throw new Error('nothing is drawn: npm run build:console')
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const times: number[] = []
  delay.enable()
  for (let n = 0; n < DRAWN; n++) {
    const began = performance.now()
    await drawing.png(chart)
    times.push(performance.now() - began)
  }
  delay.disable()
  return { each: median(times), longest: delay.max / 1e6, bytes: first.length }
}

/**
 * Reports of six charts of many projects that fall due at one moment, each a mail with six pictures, one worker. The bench fails unless every slot ran, and
 * arrived, once. Beside it what one picture costs, and all of them one after the other.
 */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const reports = option('reports', 1_000)
    const drawn = await drawnHere()
    say(
      `a picture: ${drawn.each.toFixed(1)} ms, ${thousands(drawn.bytes)} bytes; nothing else waited longer than ${drawn.longest.toFixed(1)} ms`,
    )
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const tenants = await createTenants(pool, Math.min(TENANTS, reports))
    for (const { environment } of tenants) await seedFacts(pool, environment, option('users', USERS))
    const sink = await startMailSink(resources)
    const settings = { host: '127.0.0.1', port: sink.port, secure: false, from: 'reports@shop.example', recipients: ['ann@example.com'] }
    const what: Partial<ReportInput> = { type: 'charts', charts: CHARTS, format: flag('html') ? 'html' : 'csv' }
    await seedReports(pool, tenants, { slug: 'email', settings }, reports, what)
    const { started, delivered, node, postgres } = await ourRound(resources, pool, { database, reports, env: {} }, sink)
    console.log(
      `${thousands(reports)} reports of six charts of ${tenants.length} projects at one moment, one worker; ${await durability(database)}`,
    )
    table(
      [
        'last start, s',
        'last mail, s',
        'Node, ms a report',
        'Postgres, ms a report',
        'kB a mail',
        'a picture, ms',
        'longest wait for a picture, ms',
      ],
      [
        [
          String(started),
          round(delivered, 1).toString(),
          node.toFixed(1),
          postgres.toFixed(1),
          String(Math.round(sink.bytes() / 1_000 / reports)),
          drawn.each.toFixed(1),
          drawn.longest.toFixed(1),
        ],
      ],
    )
    const alone = (reports * CHARTS.length * drawn.each) / 1_000
    return {
      name: 'report-charts',
      ours: round(delivered, 1),
      peer: round(alone, 1),
      ratio: round(alone / delivered, 2),
      unit: 's',
      last_start: started,
    }
  })
