import { DateTime } from 'luxon'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takeSlot } from '../../../domain/reporting/reports/take-slots.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { reportTo, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'

let api: TestApi
beforeAll(async () => {
  // No worker: slots are taken when the test says so.
  api = await startApi()
})
afterAll(() => api.stop())

const HOUR = 3_600_000

async function stage(fields: Record<string, unknown> = {}) {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const target = await webhookTo(api, 'http://127.0.0.1:9/', project.sandboxEnvironment)
  const report = await box.create([target], fields)
  const { rows } = await api.pool.query('select number from scheduled_reports where id = $1', [report.id])
  const number: number = rows[0].number
  return {
    box,
    report,
    number,
    target,
    /** Time goes by while no worker is up. */
    async sleep(hours: number) {
      await api.pool.query('update environments set clock_offset = clock_offset + make_interval(secs => $2) where id = $1', [
        project.sandboxEnvironment,
        hours * 3600,
      ])
    },
    /** To an hour and some minutes before, or after, the next slot. */
    async sleepTo(hoursAfterSlot: number) {
      const { rows: next } = await api.pool.query(
        `select extract(epoch from next_slot - environment_now(environment))::float8 as ahead from scheduled_reports where number = $1`,
        [number],
      )
      await this.sleep(next[0].ahead / 3600 + hoursAfterSlot)
    },
    async takeAll(): Promise<number> {
      let taken = 0
      while (await takeSlot(api.pool, number)) taken++
      return taken
    },
    due: async (): Promise<Shown> =>
      (await api.pool.query(`select due_at from due where kind = 'report-slot' and id = $1`, [number])).rows[0]?.due_at,
    runs: async (): Promise<Shown[]> => (await box.runsOf(report.id)).sort((a, b) => (a.slot < b.slot ? -1 : 1)),
  }
}
const reasons = (runs: Shown[]) => runs.map(run => run.outcome && [run.outcome, run.reason])

describe('a slot', () => {
  test('is taken once, by whoever comes first of ten', async () => {
    const at = await stage()
    await at.sleepTo(0.01)
    const taken = await Promise.all(Array.from({ length: 10 }, () => takeSlot(api.pool, at.number)))
    expect(taken.filter(Boolean)).toHaveLength(1)
    const runs = await at.runs()
    expect(runs).toHaveLength(1)
    const { rows } = await api.pool.query(
      `select r.id from runs r join due d on d.kind = r.workflow and d.id = r.id where r.workflow = 'scheduled-report' and r.subject = $1`,
      [runs[0].id],
    )
    expect(rows).toHaveLength(1)
    expect(Date.parse(await at.due()) - Date.parse(runs[0].slot)).toBe(24 * HOUR)
    expect((await at.box.good('GET', at.report.url)).runs).toBe(1)
  })

  test('is not taken before its time', async () => {
    const at = await stage()
    await at.sleepTo(-0.01)
    expect([await takeSlot(api.pool, at.number), await at.runs()]).toEqual([false, []])
  })

  test('whose job was scheduled by other rules of its zone is scheduled again', async () => {
    const at = await stage()
    const due = await at.due()
    await api.pool.query(`update scheduled_reports set next_slot = next_slot - interval '1 hour' where number = $1`, [at.number])
    expect(await takeSlot(api.pool, at.number)).toBe(false)
    expect(await at.due()).toBe(due)
  })
})

describe('slots that fell due while no worker was up', () => {
  test.each([
    ['once', [['skipped', 'missed'], ['skipped', 'missed'], null], 1],
    ['all', [null, null, null], 3],
    ['skip', Array(3).fill(['skipped', 'missed']), 0],
  ])('%s', async (missed, wanted, counted) => {
    const at = await stage({ missed })
    await at.sleepTo(2 * 24 + 2)
    expect(await at.takeAll()).toBe(3)
    const runs = await at.runs()
    expect(reasons(runs)).toEqual(wanted)
    for (const run of runs.filter(({ outcome }) => outcome === 'skipped'))
      expect(run).toMatchObject({
        status: 'finished',
        window_from: null,
        window_to: null,
        late_by_seconds: 0,
        destinations: [],
        started_at: null,
      })
    expect((await at.box.good('GET', at.report.url)).runs).toBe(counted)
    expect(Date.parse(await at.due())).toBeGreaterThan(Date.parse(await at.box.now()))
    const skipped = await at.box.good('GET', `${at.report.url}/runs?filter[outcome][]=skipped&filter[outcome][]=failed`)
    expect(skipped.data).toHaveLength(3 - counted)
  })

  test('skip: the one that is less than an hour late runs', async () => {
    const at = await stage({ missed: 'skip' })
    await at.sleepTo(24 + 0.98)
    await at.takeAll()
    expect(reasons(await at.runs())).toEqual([['skipped', 'missed'], null])
  })

  test('a year of them is taken slot by slot, each announced as soon as the one before is taken', async () => {
    const at = await stage({ missed: 'all', send_at: '02:30', timezone: 'Europe/Berlin', on_dst_gap: 'skip', on_dst_overlap: 'both' })
    await at.sleep(365 * 24)
    expect(await takeSlot(api.pool, at.number)).toBe(true)
    expect(await at.runs()).toHaveLength(1)
    const { rows } = await api.pool.query(
      `select due_at <= environment_now(environment) as is_due, batched_until, lease_until from due where kind = 'report-slot' and id = $1`,
      [at.number],
    )
    expect(rows).toEqual([{ is_due: true, batched_until: null, lease_until: null }])
    const more = await at.takeAll()
    expect([365, 366]).toContain(more)
    const { rows: found } = await api.pool.query<{ slot: string; reason: string }>(
      `select slot::text, reason from report_runs where report_id = $1`,
      [at.report.id],
    )
    expect([found.length, new Set(found.map(({ slot }) => slot)).size]).toEqual([more + 1, more + 1])
    const hasGap = ({ slot }: { slot: string }) =>
      DateTime.fromSQL(slot).setZone('Europe/Berlin').startOf('day').set({ hour: 2, minute: 30 }).hour !== 2
    expect(found.filter(({ reason }) => reason === 'dst_gap')).toEqual(found.filter(hasGap))
  })
})

describe('a report that is', () => {
  test('set to draft has no further slots; what was due and not taken ends as withheld', async () => {
    const at = await stage()
    await at.sleepTo(0.01)
    await at.takeAll()
    await at.sleepTo(0.5)
    await at.box.good('PUT', at.report.url, reportTo([at.target], { status: 'draft' }))
    const runs = await at.runs()
    expect(runs.map(({ status, outcome, reason }) => [status, outcome, reason])).toEqual(
      Array(2).fill(['finished', 'withheld', 'report_paused']),
    )
    expect(runs[1].destinations[0]).toMatchObject({ status: 'withheld', reason: 'report_paused', attempts: 0 })
    expect((await at.box.good('GET', at.report.url)).runs).toBe(2)
    // Nobody has anything of it in hand.
    const { rows } = await api.pool.query(
      `select r.status, d.id as due from runs r left join due d on d.kind = r.workflow and d.id = r.id where r.subject = any ($1)`,
      [runs.map(({ id }) => id)],
    )
    expect(rows).toEqual([{ status: 'cancelled', due: null }])
    await at.sleep(100)
    expect([await takeSlot(api.pool, at.number), (await at.runs()).length]).toEqual([false, 2])
    // Active again: the first slot lies after that.
    const again = await at.box.good('PUT', at.report.url, reportTo([at.target]))
    expect((await at.due()) > again.updated_at).toBe(true)
    expect(await takeSlot(api.pool, at.number)).toBe(false)
  })

  test('deleted likewise, its tests too; the runs stay where the ledger finds them', async () => {
    const at = await stage()
    await at.sleepTo(0.01)
    await at.takeAll()
    await at.box.good('POST', `${at.report.url}/send-test`)
    await at.box.good('DELETE', at.report.url)
    const { rows } = await api.pool.query('select kind, outcome, reason from report_runs where report_id = $1 order by kind', [
      at.report.id,
    ])
    expect(rows).toEqual([
      { kind: 'scheduled', outcome: 'withheld', reason: 'report_deleted' },
      { kind: 'test', outcome: 'withheld', reason: 'report_deleted' },
    ])
    expect(await at.due()).toBeUndefined()
  })

  test('set to draft goes on with the tests that somebody asked for', async () => {
    const at = await stage()
    await at.box.good('POST', `${at.report.url}/send-test`)
    await at.box.good('PUT', at.report.url, reportTo([at.target], { status: 'draft' }))
    expect((await at.box.runsOf(at.report.id))[0]).toMatchObject({ kind: 'test', status: 'pending' })
  })
})
