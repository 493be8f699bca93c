// Reports of charts: the window and the one before, the numbers of the file, what a resend sends, views that change and disappear.
import { createHash } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { DateTime } from 'luxon'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bucketsOf } from '../../../domain/analytics/figures/buckets.ts'
import { daysBefore } from '../../../domain/reporting/reports/chart-window.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { item } from '../../harness/events.ts'
import { finishedRun, reportTo, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'
import { type Sink, startSink } from '../../harness/sink.ts'

const HOSTILE = '=cmd|"/c calc"!A1,<img src=x onerror=alert(1)>'
const DAY = 86_400_000
const ZONE = 'Australia/Lord_Howe'
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
let api: TestApi
let sink: Sink
beforeAll(async () => {
  api = await startApi({ worker: true, policies: QUICK, drawing: { svg: async () => null, png: async () => PNG } })
  sink = await startSink()
})
afterAll(async () => {
  await api.stop()
  await sink.close()
})
beforeEach(() => {
  sink.arrived.length = 0
  sink.answers.length = 0
})

/** A sandbox with sales within the last days and before them; the name of a media source is hostile. */
async function stage(fields: Record<string, unknown>) {
  const project = await api.newProject()
  const environment = project.sandboxEnvironment
  const box = sandbox(api, project.sandbox)
  const target = await webhookTo(api, sink.url, environment)
  const at = async (daysAgo: number, more: Record<string, unknown> = {}) =>
    item({
      identity_id: 'bob',
      happened_at: new Date(Date.parse(await box.now()) - daysAgo * DAY).toISOString().replace(/\.\d+/, ''),
      ...more,
    })
  const events = [
    await at(2, { price: '10.00', identity_id: 'ann', attribution: { media_source: HOSTILE } }),
    await at(3),
    await at(9, { price: '5.00' }),
  ]
  await box.good('POST', '/v4/events', { events })
  const body = { type: 'charts', included_range_days: 7, timezone: ZONE, ...fields }
  const report = await box.create([target], body)
  const next = async (): Promise<Shown> => {
    const seen = (await box.runsOf(report.id)).length
    await box.advance({ by: 'P1D' })
    return box.runOf(report.id, run => finishedRun(run) && seen === 0)
  }
  return { project, environment, box, target, report, body, at, next }
}

const textOf = async (url: string) => (await fetch(url)).text()
const sent = () => sink.arrived.at(-1)!.body
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
/** The answer of the API to the question of a run. */
const asked = async (box: ReturnType<typeof sandbox>, run: Shown, more: Record<string, string> = {}): Promise<Shown> => {
  const seconds = (time: string) => String(Date.parse(time) / 1000)
  const search = new URLSearchParams({
    ...{
      from: seconds(run.window_from),
      to: seconds(run.window_to),
      unit: run.charts[0].unit,
      timezone: ZONE,
      previous: 'true',
      max_series: '11',
    },
    ...more,
  })
  return box.good('GET', `/v4/analytics/charts/${run.charts[0].code}?${search}`)
}

describe('a report of charts', () => {
  test('shows the whole days before its slot against as many before, with the numbers of the API', async () => {
    const { box, next } = await stage({
      charts: [{ code: 'sales', query: { segmentation: 'media_source_name' } }, { code: 'trial-to-paid' }],
    })
    const run = await next()
    const day = DateTime.fromISO(run.slot, { zone: ZONE }).startOf('day')
    expect(run).toMatchObject({ outcome: 'delivered', rows: 14, destinations: [{ status: 'delivered' }] })
    expect([run.window_from, run.window_to].map(Date.parse)).toEqual([day.minus({ days: 7 }).startOf('day').toMillis(), day.toMillis()])
    const answer = await asked(box, run, { segmentation: 'media_source_name' })
    expect(answer.summarySeries).toMatchObject({ total: 19.99, totalPrev: 5 })
    expect(run.charts).toMatchObject([
      { code: 'sales', title: 'Sales by media source', unit: 'day', total: 19.99, total_previous: 5, still_moving: false },
      { code: 'trial-to-paid' },
    ])
    expect(Date.parse(run.as_of)).toBeGreaterThanOrEqual(Date.parse(run.slot))
    const text = await textOf(sent().file_url)
    const tables = text.split('\n\n').map(table => parse(table, { relax_column_count: true }) as string[][])
    expect(tables.length).toBe(2)
    const [[title] = [], header, ...rows] = tables[0]!
    const all = [...answer.series, answer.summarySeries]
    expect([title, header!.slice(0, 3 + all.length)]).toEqual([
      'Sales by media source',
      ['Start', 'End', 'Partial', ...all.map(({ label }: Shown) => label)],
    ])
    expect(rows.slice(0, -1).map(row => row.slice(3, 3 + all.length).map(Number))).toEqual(
      answer.series[0].data.map((_: Shown, i: number) => all.map(({ data }: Shown) => data[i].value)),
    )
    expect(rows.slice(0, -1).map(row => row.slice(4 + all.length).map(Number))).toEqual(
      answer.series[0].data.map((_: Shown, i: number) => all.map(({ dataPrev }: Shown) => dataPrev[i].value)),
    )
    expect(rows.slice(0, -1).map(([start]) => Date.parse(start!) / 1000)).toEqual(answer.series[0].data.map((p: Shown) => p.start_time))
    expect(
      rows
        .at(-1)!
        .slice(3, 3 + all.length)
        .map(Number),
    ).toEqual(all.map(({ total }: Shown) => total))
  })

  test('sends the same file again, whatever was recorded since', async () => {
    const { box, report, next, at } = await stage({ charts: [{ code: 'sales' }] })
    const run = await next()
    const first = { ...sent() }
    const before = await textOf(first.file_url)
    await box.good('POST', '/v4/events', { events: [await at(3, { price: '100.00' })] })
    await box.good('POST', `/v4/scheduled-report-runs/${run.id}/resend`)
    const again = await box.runOf(report.id, ({ status, resends }) => status === 'finished' && resends === 1)
    expect([again.charts, again.as_of, again.rows]).toEqual([run.charts, run.as_of, run.rows])
    expect(sent()).toEqual(first)
    expect(await textOf(sent().file_url)).toBe(before)
    expect(sha256(before)).toBe(first.sha256)
    expect((await asked(box, run)).series[0].total).toBe(119.99)
  })

  test('has pictures at addresses with the signature of the file, and nothing at any other', async () => {
    const { next } = await stage({ charts: [{ code: 'sales' }] })
    await next()
    const file = new URL(sent().file_url)
    const signature = file.searchParams.get('signature')!
    const answered = async (path: string, given: string) => {
      const answer = await fetch(`${file.origin}${file.pathname}${path}?signature=${encodeURIComponent(given)}`)
      await answer.body?.cancel()
      return [answer.status, answer.headers.get('content-type')]
    }
    expect(await answered('/charts/1.png', signature)).toEqual([200, 'image/png'])
    expect((await answered('/charts/2.png', signature))[0]).toBe(404)
    for (const path of ['', '/charts/1.png'])
      for (const given of ['', signature.slice(1), 'é'.repeat(signature.length)])
        expect((await answered(path, given))[0], `${path} ${given}`).toBe(404)
  })

  test('is a static page where html is asked, every text escaped', async () => {
    const charts = [{ code: 'sales', query: { segmentation: 'media_source_name' } }]
    const { next } = await stage({ charts, format: 'html', report_name: '<script>alert(1)</script>' })
    expect((await next()).outcome).toBe('delivered')
    const answer = await fetch(sent().file_url)
    const text = await answer.text()
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="charts-.*\.html"$/)
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(text).toContain('<h1>&lt;script&gt;alert(1)&lt;/script&gt;</h1>')
    expect(text).not.toMatch(/<script|<img|javascript:/i)
    expect(text).toContain('$19.99, +299.8 % against $5.00 in the 7 days before')
    expect(text).toContain('The pictures were not drawn')
  })

  test('guards texts that a spreadsheet takes for formulas, where the report says so', async () => {
    const charts = [{ code: 'sales', query: { segmentation: 'media_source_name' } }]
    const { next } = await stage({ charts, formula_guard: true })
    await next()
    const text = await textOf(sent().file_url)
    expect(text).toContain(`"'=cmd|""/c calc""!A1,<img src=x onerror=alert(1)>"`)
  })

  test('goes out while raw data is off: it has none', async () => {
    const { project, next } = await stage({ charts: [{ code: 'sales' }] })
    await api.pool.query('update projects set raw_data = false where id = $1', [project.id])
    expect(await next()).toMatchObject({ outcome: 'delivered', charts: [{ total: 19.99 }] })
  })

  test('sends a test of the same whole days, a draft too', async () => {
    const { box, report } = await stage({ charts: [{ code: 'sales' }], status: 'draft', included_range_days: 1 })
    await box.good('POST', `${report.url}/send-test`)
    const run = await box.runOf(report.id, finishedRun)
    const day = DateTime.fromISO(run.created_at, { zone: ZONE }).startOf('day')
    expect([run.window_from, run.window_to].map(Date.parse)).toEqual([day.minus({ days: 1 }).startOf('day').toMillis(), day.toMillis()])
    expect(run.charts).toMatchObject([{ unit: 'hour' }])
  })
})

test.each([
  ['Atlantic/Azores', '2026-10-25T09:00', 'midnight comes twice'],
  ['Atlantic/Azores', '2026-10-26T09:00', 'midnight came twice'],
  ['America/Havana', '2026-11-01T00:30', 'within the second midnight'],
  ['America/Santiago', '2026-09-06T09:00', 'midnight does not come'],
  ['Australia/Lord_Howe', '2026-04-06T09:00', 'half an hour is put back'],
  ['Asia/Kathmandu', '2026-03-01T09:00', 'the offset has quarters of an hour'],
])('whole days are those of charts: %s, %s, %s', (zone, at, _) => {
  const instant = DateTime.fromISO(at, { zone }).toMillis()
  for (const days of [1, 3, 7, 31]) {
    const { from, to } = daysBefore(zone, days, instant)
    expect(bucketsOf({ from: from / 1000, to: to / 1000 }, 'day', zone).map(({ isCut }) => isCut)).toEqual(Array(days).fill(false))
    expect(DateTime.fromMillis(to, { zone }).toISODate()).toBe(at.slice(0, 10))
  }
})

describe('a saved view', () => {
  const view = (query: object, kind = 'chart') => ({
    name: 'Our sales',
    kind,
    ...(kind === 'chart' && { code: 'sales' }),
    query,
    range: 'last_365_days',
  })

  test('is asked as it is at the slot, and as it was last asked once it is deleted', async () => {
    const { box, next, environment, target, body } = await stage({ charts: [{ code: 'sales' }], status: 'draft' })
    const saved = await box.good('POST', '/v4/analytics/views', view({ unit: 'month' }))
    const report = await box.create([target], { ...body, status: 'active', charts: [], view_id: saved.id })
    expect(report).toMatchObject({ charts: [], view_id: saved.id })
    const latest = async (seen: number) => {
      await box.advance({ by: 'P1D' })
      return box.runOf(report.id, run => finishedRun(run) && run.created_at !== null && sink.arrived.length > seen)
    }
    expect((await latest(0)).charts).toMatchObject([{ title: 'Our sales', unit: 'day', query: { unit: 'month' } }])
    await box.good('PUT', saved.url, view({ segmentation: 'country' }))
    expect((await latest(1)).charts).toMatchObject([{ title: 'Our sales', query: { segmentation: 'country' } }])
    await box.call('DELETE', saved.url)
    expect((await latest(2)).charts).toMatchObject([{ title: 'Our sales', query: { segmentation: 'country' } }])
    // The report can still be changed, and a run that was never asked has the question of the report.
    const kept = reportTo([target], { ...body, charts: [], view_id: saved.id, status: 'draft' })
    expect(await box.good('PUT', report.url, kept)).toMatchObject({ view_id: saved.id, status: 'draft' })
    await api.pool.query('update report_runs set charts = null where environment = $1', [environment])
    await box.good('POST', `${report.url}/send-test`)
    const test = await box.runOf(report.id, run => run.kind === 'test' && finishedRun(run))
    expect(test.charts).toMatchObject([{ title: 'Our sales', query: { unit: 'month' } }])
    void next
  })

  test('must be there and be a chart', async () => {
    const { box, target, body } = await stage({ charts: [{ code: 'sales' }], status: 'draft' })
    const cohorts = await box.good('POST', '/v4/analytics/views', view({}, 'cohorts'))
    const created = (fields: object) => box.call('POST', '/v4/scheduled-reports', reportTo([target], { ...body, charts: [], ...fields }))
    expect((await created({ view_id: cohorts.id })).body.error.details).toMatchObject([{ field: 'view_id' }])
    expect((await created({ view_id: 'view_none' })).status).toBe(404)
  })
})

test('what a report cannot show is refused where it is named', async () => {
  const { box, target } = await stage({ charts: [{ code: 'sales' }], status: 'draft' })
  const created = (fields: object) => box.call('POST', '/v4/scheduled-reports', reportTo([target], { type: 'charts', ...fields }))
  const sales = { code: 'sales' }
  const refused: [object, string[]][] = [
    [{}, ['charts']],
    [{ charts: [sales], view_id: 'view_1' }, ['charts']],
    [{ charts: [{ code: 'nothing' }] }, ['charts[0].code']],
    [{ charts: [sales, { code: 'sales', query: { segmentation: 'shoe_size' } }] }, ['charts[1].query.segmentation']],
    [{ charts: [{ code: 'sales', query: { from: 1, timezone: 'UTC' } }] }, ['charts[0].query.from', 'charts[0].query.timezone']],
    [{ charts: [{ code: 'sales', query: { unit: 'week' } }] }, ['charts[0].query.unit']],
    [{ charts: [{ code: 'sales', query: { currency: 'XYZ' } }] }, ['charts[0].query.currency']],
    [{ charts: [{ code: 'sales', query: { max_series: 'many' } }] }, ['charts[0].query.max_series']],
    [{ charts: [sales], format: 'parquet' }, ['format']],
    [{ charts: [sales], include: ['event_id'] }, ['include']],
    [{ charts: Array(7).fill(sales) }, ['charts']],
    [{ type: 'events', charts: [sales] }, ['charts']],
    [{ type: 'events', format: 'html' }, ['format']],
  ]
  for (const [fields, named] of refused) {
    const { status, body } = await created(fields)
    expect([status, body.error?.details?.map(({ field }: Shown) => field)], JSON.stringify(fields)).toEqual([400, named])
  }
})
