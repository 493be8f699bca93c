// A worker that dies while it makes or sends a report of charts: every slot has one run, and whatever arrives for it is the same file.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { endLeases } from '../harness/crash-fixture.ts'
import { IS_WHOLE, inTurn } from '../harness/effort.ts'
import { item } from '../harness/events.ts'
import { DRIVERS, type Installation, startInstallation } from '../harness/installation.ts'
import { reportTo, type Shown } from '../harness/reports.ts'
import { type Sink, startSink } from '../harness/sink.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { until } from '../harness/until.ts'

vi.setConfig({ testTimeout: 300_000 })

/** Where it dies, and at which of its passages: while the figures are computed, before and after the file is published, before and after it is sent. */
const DEATHS: [CrashPoint, number][] = [
  ['before-effect', 3],
  ['after-effect', 1],
  ['recorded', 2],
  ['after-effect', 2],
  ['ended', 1],
]
const OTHER_DEATHS: [CrashPoint, number][] = [
  ['claimed', 1],
  ['claimed', 2],
  ['before-effect', 1],
  ['before-effect', 2],
  ['recorded', 1],
  ['before-end', 1],
]

describe.each(inTurn(DRIVERS))('over %s', driver => {
  let installation: Installation
  let sink: Sink
  beforeAll(async () => {
    installation = await startInstallation({ driver, isSandbox: true })
    sink = await startSink()
  })
  afterAll(async () => {
    await installation?.end()
    await sink.close()
  })

  test('each slot has one run, and one file, however often it is sent', async () => {
    const { pool, sandbox } = installation
    const environment: number = (await pool.query(`select id from environments where kind = 'sandbox'`)).rows[0].id
    const target = await storedIntegration(pool, environment, { slug: 'webhooks', settings: { url: sink.url, sandbox_url: sink.url } })
    const charts = { type: 'charts', included_range_days: 7, charts: [{ code: 'sales' }, { code: 'users-overview' }] }
    const report: Shown = (await sandbox('POST', '/v4/scheduled-reports', { body: reportTo([target], charts) })).body
    const runs = async (): Promise<Shown[]> => (await sandbox('GET', `/v4/scheduled-reports/${report.id}/runs?limit=100`)).body.data
    const files: string[] = []
    for (const [n, [point, after]] of (IS_WHOLE ? [...DEATHS, ...OTHER_DEATHS] : DEATHS).entries()) {
      await pool.query(
        `update environments e set clock_offset = e.clock_offset + (r.next_slot - environment_now(e.id)) + interval '1 second'
         from scheduled_reports r where r.environment = e.id and r.id = $1`,
        [report.id],
      )
      await installation.dying(point, after)
      await endLeases(pool)
      // What is recorded after the figures are kept must not be in the file.
      await sandbox('POST', '/v4/events', { body: { events: [item({ identity_id: 'late', happened_at: '2026-11-20T12:00:00Z' })] } })
      const heir = await installation.worker()
      const [last] = await until(`the run after ${point} ${after}`, async () => {
        const all = await runs()
        if (all.length === n + 1 && all.every(({ status }) => status === 'finished')) return all
        if (all[0]?.destinations[0]?.attempts > 0)
          await pool.query(`update environments set clock_offset = clock_offset + interval '2 minutes' where id = $1`, [environment])
        return undefined
      })
      await heir.end()
      const own = sink.arrived.filter(({ body }) => body.run_id === last!.id)
      expect(new Set(own.map(({ body }) => body.sha256)).size, `${point} ${after}`).toBe(1)
      expect(new Set(own.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      const content = Buffer.from(
        await (
          await fetch(new URL(new URL(own[0]!.body.file_url).pathname + new URL(own[0]!.body.file_url).search, installation.api.url))
        ).arrayBuffer(),
      )
      expect(createHash('sha256').update(content).digest('hex')).toBe(own[0]!.body.sha256)
      files.push(last!.id)
    }
    const all = (await runs()).reverse()
    expect(all.map(({ id, outcome }) => [id, outcome])).toEqual(files.map(id => [id, 'delivered']))
    const left = await pool.query(`select kind from due where kind in ('scheduled-report', 'report-charts', 'report-delivery')`)
    expect(left.rows).toEqual([])
  })
})
