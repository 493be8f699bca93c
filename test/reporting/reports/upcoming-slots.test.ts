// The next slots of a report, and of a schedule that is not stored: the slots that workers take.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { finishedRun, type Shown, sandbox, webhookTo } from '../../harness/reports.ts'

let api: TestApi
let box: ReturnType<typeof sandbox>
let target: string
beforeAll(async () => {
  api = await startApi({ worker: true })
  box = sandbox(api)
  target = await webhookTo(api, undefined)
})
afterAll(() => api.stop())

const slotsOf = async (id: string, limit = 5): Promise<Shown> => box.good('GET', `/v4/scheduled-reports/${id}/slots?limit=${limit}`)
const preview = (fields: Record<string, string>) => box.call('GET', `/v4/scheduled-reports/slots?${new URLSearchParams(fields)}`)
test('the slots that are listed are the slots that are taken', async () => {
  const report = await box.create([target], { timezone: 'Europe/Berlin', send_at: '02:30', on_dst_overlap: 'both' })
  expect(report).toMatchObject({ last_run: null })
  const listed = await slotsOf(report.id, 3)
  expect(listed).toMatchObject({
    object: 'list',
    url: `/v4/scheduled-reports/${report.id}/slots`,
    timezone: 'Europe/Berlin',
    has_more: true,
  })
  expect(report.next_slot).toBe(listed.data[0].at)
  for (const slot of listed.data) {
    expect(slot.seconds_ahead).toBe((Date.parse(slot.at) - Date.parse(listed.as_of)) / 1000)
    expect(`${slot.local}:00${slot.offset}`).toMatch(/T0[23]:30:00\+0[12]:00$/)
    expect(Date.parse(`${slot.local}:00${slot.offset}`)).toBe(Date.parse(slot.at))
  }
  await box.advance({ to: listed.data[1].at })
  const runs = await box.runsOf(report.id)
  expect(runs.map(({ slot }) => slot).sort()).toEqual(listed.data.slice(0, 2).map(({ at }: Shown) => at))
  expect((await slotsOf(report.id, 1)).data[0].at).toBe(listed.data[2].at)
  const again = await box.good('GET', `/v4/scheduled-reports/${report.id}`)
  expect(again.next_slot).toBe(listed.data[2].at)
  const last = runs.find(({ slot }) => slot === listed.data[1].at)
  expect(again.last_run).toMatchObject({ id: last.id, slot: last.slot })
  expect((await box.good('GET', '/v4/scheduled-reports')).data.find(({ id }: Shown) => id === report.id).last_run).toEqual(again.last_run)
  // A test is no slot.
  await box.good('POST', `/v4/scheduled-reports/${report.id}/send-test`)
  await box.runOf(report.id, run => run.kind === 'test' && (finishedRun(run) || run.destinations.length > 0))
  expect((await box.good('GET', `/v4/scheduled-reports/${report.id}`)).last_run.id).toBe(last.id)
})

test('a draft and a schedule that is not stored have the slots of a report that becomes active now', async () => {
  const schedule = { timezone: 'Asia/Kathmandu', send_at: '09:30', cadence: 'weekly', weekday: 'monday' }
  const draft = await box.create([target], { ...schedule, status: 'draft' })
  expect(draft.next_slot).toBeNull()
  const [of, seen] = [await slotsOf(draft.id), (await preview(schedule)).body]
  expect(seen).toMatchObject({ url: '/v4/scheduled-reports/slots', timezone: 'Asia/Kathmandu' })
  expect(of.data.map(({ at }: Shown) => at)).toEqual(seen.data.map(({ at }: Shown) => at))
  expect(seen.data).toHaveLength(5)
  for (const { local, offset, offset_change_minutes, clock_change } of seen.data) {
    expect([new Date(`${local}Z`).getUTCDay(), local.slice(11), offset, offset_change_minutes, clock_change]).toEqual([
      1,
      '09:30',
      '+05:45',
      0,
      null,
    ])
  }
  const active = await box.good('PUT', `/v4/scheduled-reports/${draft.id}`, { ...body(draft), status: 'active' })
  expect(active.next_slot).toBe(seen.data[0].at)
})

const body = ({ report_name, send_at, included_range_days, environment, destinations, timezone, cadence, weekday }: Shown) => ({
  ...{ report_name, send_at, included_range_days, environment, destinations, timezone, cadence, weekday },
})

const berlin = { timezone: 'Europe/Berlin', send_at: '02:30', cadence: 'daily' }
test.each([
  ['shifted', berlin, 'gap', '03:30', 60],
  ['skipped', { ...berlin, on_dst_gap: 'skip' }, 'gap', '03:30', 60],
  ['twice', berlin, 'overlap', '02:30', 0],
  ['shifted', { ...berlin, timezone: 'Australia/Lord_Howe', send_at: '02:00' }, 'gap', '02:30', 30],
])('%s: %j', async (clock_change, fields, _kind, local, change) => {
  // From now on the next change of the clocks is at most a year away: slots of a whole year, by pages of fifty days on the sandbox's clock.
  const project = await api.newProject()
  const own = sandbox(api, project.sandbox)
  for (let page = 0; page < 9; page++) {
    const { data } = await own.good('GET', `/v4/scheduled-reports/slots?${new URLSearchParams({ ...fields, limit: '50' })}`)
    const at = data.findIndex((slot: Shown) => slot.clock_change === clock_change)
    if (at >= 0) {
      expect(data[at]).toMatchObject({ offset_change_minutes: change })
      expect(data[at].local.slice(11)).toBe(local)
      // The day after has the new offset, at the schedule's own time.
      const next = data.slice(at + 1).find((slot: Shown) => slot.clock_change === null)
      if (next) expect(next.local.slice(11)).toBe(fields.send_at)
      return
    }
    await own.advance({ to: data.at(-1).at })
  }
  expect.fail('no change of the clocks within a year')
})

test('both times of an overlap are two slots; a normal day says by how much the offset has changed', async () => {
  const project = await api.newProject()
  const own = sandbox(api, project.sandbox)
  const look = async (fields: Record<string, string>) => {
    const { data } = await own.good('GET', `/v4/scheduled-reports/slots?${new URLSearchParams({ ...berlin, ...fields, limit: '50' })}`)
    return data as Shown[]
  }
  for (let page = 0; page < 9; page++) {
    const data = await look({ on_dst_overlap: 'both' })
    const twice = data.filter(slot => slot.clock_change === 'twice')
    if (twice.length === 2) {
      expect(twice.map(({ offset, offset_change_minutes }) => [offset, offset_change_minutes])).toEqual([
        ['+02:00', 0],
        ['+01:00', -60],
      ])
      expect(twice[0].local).toBe(twice[1].local)
      const nine = await look({ send_at: '09:00' })
      const changed = nine.filter(slot => slot.offset_change_minutes !== 0)
      expect(changed).toMatchObject([{ offset: '+01:00', offset_change_minutes: -60, clock_change: null }])
      return
    }
    await own.advance({ to: data.at(-2)!.at })
  }
  expect.fail('no overlap within a year')
})

test('what is no schedule, no report, too much', async () => {
  const faults = async (fields: Record<string, string>) => {
    const { status, body } = await preview({ send_at: '09:00', ...fields })
    return [status, body.error.code, body.error.details?.[0]?.field]
  }
  expect(await faults({ timezone: 'Mars/Olympus' })).toEqual([400, 'invalid_data', 'timezone'])
  expect(await faults({ cadence: 'weekly' })).toEqual([400, 'invalid_data', 'weekday'])
  expect(await faults({ day_of_month: '3' })).toEqual([400, 'invalid_data', 'day_of_month'])
  expect((await faults({ send_at: '09:10' })).slice(0, 2)).toEqual([400, 'invalid_data'])
  expect((await faults({ limit: '51' })).slice(0, 2)).toEqual([400, 'invalid_data'])
  expect((await box.call('GET', '/v4/scheduled-reports/rep_none/slots')).status).toBe(404)
  const monthly = (await preview({ send_at: '09:00', cadence: 'monthly', day_of_month: '31', limit: '12' })).body.data as Shown[]
  expect(new Set(monthly.map(({ local }) => local.slice(0, 7))).size).toBe(12)
})
