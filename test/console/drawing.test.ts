// The drawing that the build makes for a process without a browser: the one by which reports are drawn.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { consoleDrawing } from '../../app/console/drawing.ts'
import type { ChartDrawing, DrawnChart } from '../../domain/reporting/reports/chart-drawing.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { builtConsole } from '../harness/built-console.ts'
import { item } from '../harness/events.ts'
import { finishedRun, sandbox, webhookTo } from '../harness/reports.ts'
import { type Sink, startSink } from '../harness/sink.ts'

const DAY = 86_400
let drawing: ChartDrawing
let api: TestApi
let sink: Sink
beforeAll(async () => {
  await builtConsole()
  drawing = consoleDrawing()
  api = await startApi({ worker: true, drawing })
  sink = await startSink()
}, 120_000)
afterAll(() => Promise.all([api?.stop(), sink?.close()]))

/** `labels`: of the series; 31 days. */
const chart = (labels: string[], title = 'Sales'): DrawnChart => {
  const data = Array.from({ length: 31 }, (_, i) => ({ start_time: i * DAY, end_time: (i + 1) * DAY, value: i, partial: false }))
  const series = labels.map(label => ({ label, total: 465, totalPrev: 1, data, dataPrev: data }))
  const answer = {
    code: 'sales',
    from: 0,
    to: 31 * DAY,
    unit: 'day',
    currency: 'EUR',
    measure: 'usd',
    totalType: 'sum',
    seriesRelation: 'partsOfWhole',
    series,
    incomplete_from: 20 * DAY,
  }
  return { figure: { title, filters: [], query: {}, answer } as never, zone: 'Europe/Berlin', id: 'c1' }
}
/** Width and height as a PNG says them. */
const sizeOf = (png: Uint8Array) => [Buffer.from(png).readUInt32BE(16), Buffer.from(png).readUInt32BE(20)]

test('needs no style sheet, and hostile names are text', async () => {
  const svg = (await drawing.svg(chart(['<script>alert(1)</script>', '"\u202e&'])))!
  expect(svg).toMatch(/^<svg [^>]*width="900"/)
  expect(svg).not.toMatch(/<script|<style|href=|style="(?!overflow:visible")/)
  // Colours as attributes, and the hatch of what time can still change.
  expect(svg).toContain('fill="#1f7a5c"')
  expect(svg).toContain('fill="url(#c1-0)"')
})

test('makes pixels of a fixed width in which the legend of twelve series has room', async () => {
  const [one, twelve] = [
    await drawing.png(chart(['Sales \u0001\ud800 \u0000'])),
    await drawing.png(chart(Array.from({ length: 12 }, (_, i) => `Ünï ${i}`))),
  ]
  expect([sizeOf(one!)[0], sizeOf(twelve!)[0]]).toEqual([1050, 1050])
  expect(sizeOf(twelve!)[1]!).toBeGreaterThan(sizeOf(one!)[1]!)
  expect(Buffer.from(one!).subarray(1, 4).toString()).toBe('PNG')
  expect(one!.length).toBeLessThan(100_000)
})

test('a page of a report has its pictures, and each picture an address that needs the signature of the file', async () => {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const target = await webhookTo(api, sink.url, project.sandboxEnvironment)
  const happened_at = new Date(Date.parse(await box.now()) - 2 * DAY * 1000).toISOString()
  await box.good('POST', '/v4/events', { events: [item({ identity_id: 'ann', happened_at })] })
  const charts = [{ code: 'sales' }, { code: 'trial-to-paid' }]
  const report = await box.create([target], { type: 'charts', format: 'html', status: 'draft', included_range_days: 7, charts })
  await box.good('POST', `${report.url}/send-test`)
  expect(await box.runOf(report.id, finishedRun)).toMatchObject({ outcome: 'delivered' })
  const url = new URL(sink.arrived.at(-1)!.body.file_url)
  const page = await (await fetch(url)).text()
  expect(page.match(/<svg class="drawing"/g)!.length).toBe(2)
  expect(page).not.toContain('The pictures were not drawn')
  const picture = (at: string, signature = url.searchParams.get('signature')!) =>
    fetch(new URL(`${url.pathname}/charts/${at}.png?signature=${signature}`, url))
  const answer = await picture('1')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png'])
  expect(sizeOf(new Uint8Array(await answer.arrayBuffer()))[0]).toBe(1050)
  const refused = [await picture('3'), await picture('7'), await picture('1', 'wrong'), await picture('1', '')]
  expect(refused.map(({ status }) => status)).toEqual([404, 404, 404, 404])
})

test('without the build there is none', async () => {
  const missing = consoleDrawing('/nowhere')
  expect([await missing.svg(chart(['Sales'])), await missing.png(chart(['Sales']))]).toEqual([null, null])
})
