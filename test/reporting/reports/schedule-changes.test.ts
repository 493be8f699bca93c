import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isGapless, type Schedule, slotsAfter, WEEKDAYS, windowOf } from '../../../domain/reporting/reports/slots.ts'
import { takeSlot, takeSlots } from '../../../domain/reporting/reports/take-slots.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { share } from '../../harness/effort.ts'
import { reportTo, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'

let api: TestApi
beforeAll(async () => {
  // No worker: slots are taken when the test says so.
  api = await startApi()
})
afterAll(() => api.stop())

const MINUTE = 60_000
const HOUR = 60 * MINUTE

async function stage(fields: Record<string, unknown>) {
  const project = await api.newProject()
  const box = sandbox(api, project.sandbox)
  const target = await webhookTo(api, 'http://127.0.0.1:9/', project.sandboxEnvironment)
  const report = await box.create([target], fields)
  const { rows } = await api.pool.query('select number from scheduled_reports where id = $1', [report.id])
  const number: number = rows[0].number
  return {
    createdAt: Date.parse(report.created_at),
    now: async () => Date.parse(await box.now()),
    sleep: (ms: number) =>
      api.pool.query('update environments set clock_offset = clock_offset + make_interval(secs => $2) where id = $1', [
        project.sandboxEnvironment,
        ms / 1000,
      ]),
    /** Until so long after the next slot, whatever the time of day. */
    async sleepBeyondSlot(ms: number) {
      await this.sleep(Date.parse(await this.due()) + ms - (await this.now()))
    },
    async sleepTo(time: string) {
      const now = new Date(Date.parse(await box.now()))
      const [hour, minute] = time.split(':').map(Number) as [number, number]
      const at = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), hour, minute)
      await this.sleep((at > now.getTime() ? at : at + 24 * HOUR) - now.getTime())
    },
    /** As workers do: together, and one by one what could not be taken together. */
    async takeAll() {
      do await takeSlots(api.pool, [number])
      while (await takeSlot(api.pool, number))
    },
    change: async (changed: Record<string, unknown>): Promise<number> =>
      Date.parse((await box.good('PUT', report.url, reportTo([target], changed))).updated_at),
    due: async (): Promise<Shown> =>
      (await api.pool.query(`select due_at from due where kind = 'report-slot' and id = $1`, [number])).rows[0].due_at,
    runs: async (): Promise<Shown[]> =>
      (
        await api.pool.query(
          `select slot, window_from, window_to, outcome, reason, status from report_runs where report_id = $1 and kind = 'scheduled' order by slot`,
          [report.id],
        )
      ).rows,
    counted: async (): Promise<number> => (await box.good('GET', report.url)).runs,
  }
}
const timeOf = (text: string) => text.slice(11, 16)

test('a changed schedule takes no slot that lies before the change, and the first window begins where the last one has ended', async () => {
  const at = await stage({ send_at: '12:00', missed: 'all' })
  await at.sleepBeyondSlot(HOUR)
  await at.takeAll()
  await at.sleepTo('10:00')
  // 09:00 of this day lies after the last slot, and before the change.
  await at.change({ send_at: '09:00', missed: 'all' })
  await at.takeAll()
  const before = await at.runs()
  expect(timeOf(before.at(-1)!.slot)).toBe('12:00')
  expect([timeOf(await at.due()), Date.parse(await at.due()) > (await at.now())]).toEqual(['09:00', true])
  // Another change that does not touch the schedule leaves the window as it is.
  await at.change({ send_at: '09:00', missed: 'all', report_name: 'Other' })
  await at.sleepTo('09:01')
  await at.takeAll()
  const [last, first] = (await at.runs()).slice(-2)
  expect([timeOf(first.slot), first.window_from]).toEqual(['09:00', last.window_to])
  expect(Date.parse(first.window_to) - Date.parse(first.window_from)).toBe(45 * HOUR)
  await at.sleepTo('09:01')
  await at.takeAll()
  expect((await at.runs()).at(-1)!.window_from).toBe(first.window_to)
})

test.each([
  ['once', [['skipped', 'missed'], ['skipped', 'missed'], null], 1],
  ['all', [null, null, null], 3],
  ['skip', Array(3).fill(['skipped', 'missed']), 0],
])('slots that were due before the change are settled by the former policy: %s', async (missed, wanted, counted) => {
  const at = await stage({ send_at: '09:00', missed })
  await at.sleepBeyondSlot(30 * MINUTE)
  await at.sleep(2 * 24 * HOUR + 2 * HOUR)
  await at.change({ send_at: '08:00', missed: 'all', timezone: 'Asia/Tokyo' })
  const runs = await at.runs()
  expect(runs.map(run => run.outcome && [run.outcome, run.reason])).toEqual(wanted)
  expect(runs.map(run => timeOf(run.slot))).toEqual(Array(3).fill('09:00'))
  expect(await at.counted()).toBe(counted)
  await at.takeAll()
  expect(await at.runs()).toEqual(runs)
})

const schedules = fc
  .record({
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/Los_Angeles', 'Pacific/Apia'),
    send_at: fc.nat(47).map(half => `${String(half >> 1).padStart(2, '0')}:${half % 2 ? '30' : '00'}`),
    cadence: fc.constantFrom('daily', 'daily', 'weekly', 'monthly', 'monthly'),
    weekday: fc.constantFrom(...WEEKDAYS),
    day_of_month: fc.integer({ min: 1, max: 31 }),
    included_range_days: fc.constantFrom(1, 1, 3, 7),
    monthly_range_days: fc.constantFrom(1, 28, 31, 31),
    on_dst_overlap: fc.constantFrom('first', 'both'),
  })
  .map(({ weekday, day_of_month, included_range_days, monthly_range_days, ...schedule }) => ({
    ...schedule,
    included_range_days: schedule.cadence === 'monthly' ? monthly_range_days : included_range_days,
    weekday: schedule.cadence === 'weekly' ? weekday : null,
    day_of_month: schedule.cadence === 'monthly' ? day_of_month : null,
    on_dst_gap: 'shift',
    missed: 'all',
  }))
type Given = Schedule & { included_range_days: number }
/** Hours until the schedule changes, and whether a worker is up when it does. */
const life = fc.record({ schedule: schedules, hours: fc.integer({ min: 1, max: 400 }), isWorkerUp: fc.boolean() })

type Window = { from: number; to: number; period: number }

/** The windows that the schedules intend, in the order of their slots: those of each schedule while it holds. */
function intended(periods: { schedule: Given; from: number; to: number }[]): Window[] {
  return periods.flatMap(({ schedule, from, to }, period) => {
    const windows: Window[] = []
    for (const slot of slotsAfter(schedule, from)) {
      if (slot.at > to) return windows
      windows.push({ ...windowOf(schedule, schedule.included_range_days, slot), period })
    }
    return windows
  })
}

test('over any changes every slot has its run, and every instant lies in as many windows as the schedules intend, none in no window', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 2, maxLength: 5 }), async lives => {
      const at = await stage(lives[0]!.schedule)
      const periods: { schedule: Given; from: number; to: number }[] = []
      let from = at.createdAt
      for (const [i, { hours, isWorkerUp }] of lives.entries()) {
        await at.sleep(hours * HOUR)
        const next = lives[i + 1]
        if (isWorkerUp || !next) await at.takeAll()
        const to = next ? await at.change({ ...next.schedule, report_name: `Change ${i}` }) : await at.now()
        periods.push({ schedule: lives[i]!.schedule as Given, from, to })
        from = to
      }
      const runs = await at.runs()
      const windows = intended(periods)
      const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
      expect(runs.map(({ slot }) => slot)).toEqual(windows.map(({ to }) => iso(to)))
      const own = [...windows]
      // What the last window before a change, or the first one that never came, leaves out before the first window after the change.
      for (const [i, { from: begin, period }] of windows.entries()) {
        const former = windows[i - 1]
        if (former?.period === period) continue
        let first = period
        while (first > (former?.period ?? 0) && isGapless(periods[first]!.schedule) && isGapless(periods[first - 1]!.schedule)) first--
        const { schedule, from: changed } = periods[first]!
        const planned = windowOf(schedule, schedule.included_range_days, slotsAfter(schedule, changed).next().value).from
        const end = former && first === former.period ? former.to : first < period ? planned : begin
        if (end < begin) own.push({ from: end, to: begin, period })
      }
      const count = (some: { from: number; to: number }[], instant: number) =>
        some.filter(({ from: a, to: b }) => a <= instant && instant < b).length
      const actual = runs.map(run => ({ from: Date.parse(run.window_from), to: Date.parse(run.window_to) }))
      const edges = [...own, ...actual].flatMap(({ from: a, to: b }) => [a, b])
      for (const instant of edges) expect([iso(instant), count(actual, instant)]).toEqual([iso(instant), count(own, instant)])
    }),
    { numRuns: share(60) },
  )
}, 120_000)
