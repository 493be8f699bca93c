// An export that somebody cancels: what it shows, what is left of it, and who wins against the worker that publishes it.
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FileStorage } from '../../../store/files/storage.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { type Erasing, startErasing } from '../../harness/erasing.ts'
import { item } from '../../harness/events.ts'
import { exportAll, finished, storedFiles, WHOLE_YEAR } from '../../harness/exports.ts'
import { useBullmq } from '../../harness/queue.ts'
import { reportTo, webhookTo } from '../../harness/reports.ts'
import { until } from '../../harness/until.ts'

const cancel = (api: TestApi, id: string, headers: Record<string, string> = {}) => api.call('POST', `/v4/exports/${id}/cancel`, { headers })
const accept = async (api: TestApi, body: object = WHOLE_YEAR): Promise<string> => (await api.call('POST', '/v4/exports', { body })).body.id
const shown = async (api: TestApi, id: string) => (await api.call('GET', `/v4/exports/${id}`)).body
const advance = (api: TestApi, interval: string) =>
  api.pool.query('update environments set clock_offset = clock_offset + $1::interval', [interval])
const exportsOf = async (api: TestApi) => (await api.call('GET', '/v4/ledger?kind=exports')).body.data[0]

describe('cancelling', () => {
  let erasing: Erasing
  let api: TestApi
  beforeAll(async () => {
    erasing = await startErasing()
    api = erasing.api
  })
  afterAll(() => erasing.stop())

  test('while a part is written: nothing is published, the parts go, and the ledger counts it as declined', async () => {
    let isWriting = () => {}
    let release = () => {}
    const written = new Promise<void>(resolve => {
      isWriting = resolve
    })
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const writePart: FileStorage['writePart'] = async (file, name, content, signal) => {
      if (name.startsWith('3.')) {
        isWriting()
        await held
      }
      // A worker that does not notice that its job is gone.
      return api.storage.writePart(file, name, content, name.startsWith('3.') ? new AbortController().signal : signal)
    }
    await erasing.work({ writePart })
    const id = await accept(api)
    await written
    expect(await shown(api, id)).toMatchObject({ status: 'processing', rows_written: 8, rows_expected: 40 })

    const once = await cancel(api, id, { 'Idempotency-Key': 'cancel-1' })
    expect(once.status, once.text).toBe(200)
    expect(once.body).toMatchObject({ object: 'export', id, status: 'cancelled', file_url: null, manifest: null, error: null })
    const repeated = await cancel(api, id, { 'Idempotency-Key': 'cancel-1' })
    expect(repeated.headers.get('idempotency-replayed')).toBe('true')
    expect(await cancel(api, id)).toMatchObject({ status: 200, body: once.body })
    const { rows } = await api.pool.query(
      `select before ->> 'status' as before, after ->> 'status' as after from audit_log where operation = 'v4CancelExport'`,
    )
    expect(rows).toEqual([{ before: 'processing', after: 'cancelled' }])

    release()
    await until('the late part', async () => ((await api.storage.sizes(id)).has('3.1') ? true : undefined))
    expect(await shown(api, id)).toMatchObject({ status: 'cancelled', rows_written: 8 })
    await advance(api, '2 minutes')
    await until('the parts are removed', async () => ((await storedFiles(api.files)).length === 0 ? true : undefined))
    expect(await shown(api, id)).toMatchObject({ status: 'cancelled' })

    const counted = { promised: 1, kept: 0, declined: 1, broken: 0, outstanding: 0, reasons: { cancelled_by_api: 1 }, overdue: 0 }
    expect(await exportsOf(api)).toMatchObject(counted)
    // The record goes with others of its age; the ledger counts on.
    await until('the run waits', async () => (await api.pool.query(`select 1 from runs where status = 'waiting'`)).rowCount || undefined)
    await advance(api, '89 days')
    expect((await cancel(api, id)).status).toBe(200)
    // Of a worker that stood still when the parts were removed.
    await api.storage.writePart(id, '4.1', Readable.from([Buffer.from('late')]), new AbortController().signal)
    await advance(api, '2 days')
    await until('the record is removed', async () => ((await api.call('GET', `/v4/exports/${id}`)).status === 404 ? true : undefined))
    expect(await storedFiles(api.files)).toEqual([])
    const { body } = await api.call('GET', `/v4/ledger?kind=exports&from=${encodeURIComponent(once.body.created_at)}`)
    expect(body.data[0]).toMatchObject(counted)
    await erasing.rest()
  })

  test('before a worker begins: none ever does, and its segment is free', async () => {
    const conditions = [{ metric: 'country', comparator: 'eq', value: 'DE' }]
    const { body: segment } = await api.call('POST', '/v4/segments', { body: { name: 'Germans', conditions } })
    const id = await accept(api, { ...WHOLE_YEAR, segment_id: segment.id })
    expect((await api.call('DELETE', `/v4/segments/${segment.id}`)).status).toBe(409)
    expect((await cancel(api, id)).body.status).toBe('cancelled')
    await erasing.work()
    await exportAll(api, WHOLE_YEAR)
    expect(await shown(api, id)).toMatchObject({ status: 'cancelled', rows_written: 0 })
    const { rows } = await api.pool.query(`select status from runs where workflow = 'export' and subject = $1`, [id])
    expect(rows).toEqual([{ status: 'cancelled' }])
    expect((await api.call('DELETE', `/v4/segments/${segment.id}`)).status).toBe(204)
  })

  test('an export that has ended, one of a report, and none', async () => {
    const { object } = await exportAll(api, WHOLE_YEAR)
    const done = await cancel(api, object.id)
    expect([done.status, done.body.error]).toMatchObject([409, { code: 'conflict', message: 'the export has ended: it is done' }])
    expect((await cancel(api, 'nothing')).status).toBe(404)
    await erasing.rest()
    const target = await webhookTo(api, undefined, api.project.production)
    const { body: report } = await api.call('POST', '/v4/scheduled-reports', { body: reportTo([target], { environment: 'production' }) })
    await api.pool.query(`insert into report_runs (environment, id, report_id, kind, created_at) values ($1, 'rrn_1', $2, 'test', now())`, [
      api.project.production,
      report.id,
    ])
    const id = await accept(api)
    await api.pool.query(`update exports set report_run = 'rrn_1' where id = $1`, [id])
    const refused = await cancel(api, id)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
    expect(await shown(api, id)).toMatchObject({ status: 'new', report_id: report.id, report_run_id: 'rrn_1' })
    const { body } = await api.call('GET', '/v4/exports/history?limit=1')
    expect(body.data[0]).toMatchObject({ id, report_id: report.id })
  })
})

describe.each(['pg-boss', 'BullMQ'])('a worker that publishes at the same time, over %s', driver => {
  if (driver === 'BullMQ') useBullmq()
  let api: TestApi
  beforeAll(async () => {
    api = await startApi({ worker: true, partRows: 4 })
    await api.call('POST', '/v4/events', { body: { events: Array.from({ length: 10 }, (_, i) => item({ identity_id: `u${i}` })) } })
  })
  afterAll(() => api.stop())

  test('one of them wins, whatever the moment, and the ledger says who', async () => {
    const ROUNDS = 24
    const ended = await Promise.all(
      Array.from({ length: ROUNDS }, async (_, round) => {
        const id = await accept(api)
        // Spread over the time that the exports take.
        await new Promise(resolve => setTimeout(resolve, round * 12))
        const { status } = await cancel(api, id)
        const { status: end, file_url } = await until(id, async () => {
          const now = await shown(api, id)
          return ['done', 'cancelled'].includes(now.status) ? now : undefined
        })
        expect([status, end]).toEqual(status === 200 ? [200, 'cancelled'] : [409, 'done'])
        expect((await fetch(file_url ?? `${api.url}/files/exports/${id}?signature=x`)).status).toBe(end === 'done' ? 200 : 404)
        return { id, end }
      }),
    )
    const count = (of: string) => ended.filter(({ end }) => end === of).length
    expect(count('cancelled')).toBeGreaterThan(0)
    expect(await exportsOf(api)).toMatchObject({ promised: ROUNDS, kept: count('done'), declined: count('cancelled'), outstanding: 0 })
    await until('no export has a job', async () =>
      (await api.pool.query(`select 1 from due where kind = 'export'`)).rowCount === 0 ? true : undefined,
    )
    await advance(api, '2 minutes')
    const kept = ended.flatMap(({ id, end }) => (end === 'done' ? [id] : [])).sort()
    await until('what was written is gone', async () => ((await storedFiles(api.files)).length === kept.length ? true : undefined))
    expect((await storedFiles(api.files)).sort()).toEqual(kept)
    expect(await finished(api.call, await accept(api))).toMatchObject({ status: 'done' })
  })
})
