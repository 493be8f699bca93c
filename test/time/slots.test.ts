import fc from 'fast-check'
import { IANAZone } from 'luxon'
import { describe, expect, test } from 'vitest'
import { isZone } from '../../domain/kernel/time/local-time.ts'
import { nextSlot, type Schedule, type Slot, slotsAfter, WEEKDAYS, windowOf } from '../../domain/reporting/reports/slots.ts'
import { share } from '../harness/effort.ts'
import { type Transition, transitionsOf } from './transitions.ts'

const ZONES = Intl.supportedValuesOf('timeZone')
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 16)
const HOUR = 3_600_000
const DAY = 24 * HOUR
const EVERY = ZONES.flatMap(name => transitionsOf(name))
/** What the clocks show when they change, in which month and on which day of the week, and by how much. */
const likeness = ({ at, before, after }: Transition): string => {
  const local = new Date(at + before)
  return `${before} ${after} ${iso(at + before).slice(11)} ${local.getUTCMonth()} ${local.getUTCDay()}`
}
/** One of those that are alike but for the year and the zone: only the days around it are looked at. TEST_ZONES=all takes each of each zone. */
const TRANSITIONS = process.env.TEST_ZONES === 'all' ? EVERY : [...new Map(EVERY.map(one => [likeness(one), one])).values()]

const schedule = (rest: Partial<Schedule>): Schedule => ({
  timezone: 'UTC',
  send_at: '09:00',
  cadence: 'daily',
  weekday: null,
  day_of_month: null,
  on_dst_gap: 'shift',
  on_dst_overlap: 'first',
  ...rest,
})

function take(of: Schedule, after: number, count: number): Slot[] {
  const slots: Slot[] = []
  for (const slot of slotsAfter(of, after)) if (slots.push(slot) === count) return slots
  return slots
}
const dateOf = ({ day }: Slot) => new Date(day * DAY).toISOString().slice(0, 10)
/** What the zone's clocks show. */
const wall = (name: string, at: number) => iso(at + IANAZone.create(name).offset(at) * 60_000)

/** Half hours that the clocks leave out or show twice at the transition, and one that has nothing to do with it. */
const timesAt = ({ at, before, after }: Transition): string[] => {
  const [from, to] = [at + Math.min(before, after), at + Math.max(before, after)]
  const times = ['12:00']
  for (let local = Math.ceil(from / (HOUR / 2)) * (HOUR / 2); local < to; local += HOUR / 2) times.push(iso(local).slice(11))
  return times
}

const zones = fc.constantFrom(...ZONES)
const times = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom('00', '30')).map(([h, m]) => `${String(h).padStart(2, '0')}:${m}`)
const schedules = fc
  .record({
    timezone: zones,
    send_at: times,
    cadence: fc.constantFrom('daily' as const, 'weekly' as const, 'monthly' as const),
    weekday: fc.constantFrom(...WEEKDAYS),
    day_of_month: fc.integer({ min: 1, max: 31 }),
    on_dst_gap: fc.constantFrom('shift' as const, 'skip' as const),
    on_dst_overlap: fc.constantFrom('first' as const, 'both' as const),
  })
  .map(made => ({
    ...made,
    weekday: made.cadence === 'weekly' ? made.weekday : null,
    day_of_month: made.cadence === 'monthly' ? made.day_of_month : null,
  }))
const instants = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2035, 11) })

describe('at every transition of every zone until 2035', () => {
  test('there are some, the odd ones among them', () => {
    expect(ZONES.length).toBeGreaterThan(400)
    expect(EVERY.length).toBeGreaterThan(2_000)
    const sizes = new Set(TRANSITIONS.map(({ before, after }) => Math.abs(after - before) / 60_000))
    expect(sizes).toContain(30)
    expect(EVERY.filter(({ zone }) => zone === 'Africa/Casablanca').length).toBeGreaterThan(10)
  })

  test('a daily report has one slot a date, two where it asks for both, and its windows adjoin', () => {
    for (const transition of TRANSITIONS)
      for (const send_at of timesAt(transition))
        for (const on_dst_overlap of ['first', 'both'] as const) {
          const of = schedule({ timezone: transition.zone, send_at, on_dst_overlap })
          const slots = take(of, transition.at - 3 * DAY, 6)
          const name = `${transition.zone} ${iso(transition.at)} at ${send_at}, ${on_dst_overlap}`
          let doubled = 0
          for (let i = 1; i < slots.length; i++) {
            const [former, slot] = [slots[i - 1]!, slots[i]!]
            if (slot.at <= former.at) expect.fail(`${name}: not in order`)
            if (windowOf(of, 1, slot).from !== former.at) expect.fail(`${name}: ${iso(slot.at)} does not begin where the former ended`)
            if (slot.day === former.day) doubled++
            else if (slot.day !== former.day + 1) expect.fail(`${name}: ${dateOf(slot)} follows ${dateOf(former)}`)
          }
          const isRepeated = transition.after < transition.before && send_at !== '12:00'
          if (doubled !== (isRepeated && on_dst_overlap === 'both' ? 1 : 0)) expect.fail(`${name}: ${doubled} doubled`)
        }
  })

  test('a time that is left out comes later by the size of the gap, or is skipped and dated alike', () => {
    let found = 0
    for (const transition of TRANSITIONS.filter(({ before, after }) => after > before))
      for (const send_at of timesAt(transition).slice(1)) {
        const local = iso(transition.at + transition.before).slice(0, 11)
        const of = schedule({ timezone: transition.zone, send_at })
        // The gap may reach over midnight.
        const day = Math.floor((transition.at + transition.before) / DAY) + (send_at < local.slice(11) ? 1 : 0)
        const around = take(of, transition.at - 2 * DAY, 5)
        const slot = around.find(({ at }) => at >= transition.at && at < transition.at + transition.after - transition.before)
        if (slot === undefined) throw new Error(`${transition.zone} ${iso(transition.at)}: no slot in place of ${send_at}`)
        const nominal = slot.day * DAY + Date.parse(`1970-01-01T${send_at}Z`)
        expect(wall(transition.zone, slot.at)).toBe(iso(nominal + transition.after - transition.before))
        expect(slot.day).toBeGreaterThanOrEqual(day)
        const skipping = take({ ...of, on_dst_gap: 'skip' }, transition.at - 2 * DAY, 5)
        expect(skipping).toEqual(around.map(other => ({ ...other, isSkipped: other.at === slot.at })))
        found++
      }
    expect(found).toBeGreaterThan(80)
  })

  test('a time that comes twice has its slot at the first, or at both, the second covering what lies between', () => {
    let found = 0
    for (const transition of TRANSITIONS.filter(({ before, after }) => after < before))
      for (const send_at of timesAt(transition).slice(1)) {
        const of = schedule({ timezone: transition.zone, send_at, on_dst_overlap: 'both' })
        const pair = take(of, transition.at - 2 * DAY, 6).filter((slot, _, all) => all.filter(({ day }) => day === slot.day).length === 2)
        expect(pair.map(({ at }) => wall(transition.zone, at).slice(11))).toEqual([send_at, send_at])
        const [first, second] = pair as [Slot, Slot]
        expect(second.at - first.at).toBe(transition.before - transition.after)
        expect(windowOf(of, 7, second)).toEqual({ from: first.at, to: second.at })
        const once = take({ ...of, on_dst_overlap: 'first' }, transition.at - 2 * DAY, 5).filter(({ day }) => day === first.day)
        expect(once.map(({ at }) => at)).toEqual([first.at])
        found++
      }
    expect(found).toBeGreaterThan(80)
  })
})

test('slots of any schedule are in order, on its days, at its time, and the same from wherever one looks', () => {
  fc.assert(
    fc.property(schedules, instants, (of, after) => {
      const slots = take(of, after, 8)
      let former = after
      for (const slot of slots) {
        expect(slot.at).toBeGreaterThan(former)
        expect(nextSlot(of, former)).toEqual(slot)
        former = slot.at
        const date = new Date(slot.day * DAY)
        if (of.cadence === 'weekly') expect(WEEKDAYS[(date.getUTCDay() + 6) % 7]).toBe(of.weekday)
        const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
        if (of.cadence === 'monthly') expect(date.getUTCDate()).toBe(Math.min(of.day_of_month!, last))
        const shown = wall(of.timezone, slot.at)
        // In a gap another time is shown: never the one before it.
        if (!shown.endsWith(of.send_at)) expect(shown > `${dateOf(slot)}T${of.send_at}`).toBe(true)
        else expect(shown.slice(0, 10)).toBe(dateOf(slot))
      }
      const days = new Set(slots.map(({ day }) => day))
      if (of.on_dst_overlap === 'first') expect(days.size).toBe(slots.length)
    }),
    { numRuns: share(1_000) },
  )
})

test('daily windows of a whole run of days adjoin, whatever the policy, wherever it begins', () => {
  fc.assert(
    fc.property(schedules, instants, (made, after) => {
      const of = { ...made, cadence: 'daily' as const, weekday: null, day_of_month: null }
      const slots = take(of, after, 40)
      const windows = slots.map(slot => windowOf(of, 1, slot))
      expect(windows.slice(1).map(({ from }) => from)).toEqual(windows.slice(0, -1).map(({ to }) => to))
    }),
    { numRuns: share(150) },
  )
})

describe('odd zones', () => {
  test('Lord Howe moves by half an hour', () => {
    const of = schedule({ timezone: 'Australia/Lord_Howe', send_at: '02:00', on_dst_overlap: 'both' })
    expect(take(of, Date.parse('2026-10-02T12:00Z'), 2).map(({ at }) => wall(of.timezone, at))).toEqual([
      '2026-10-03T02:00',
      '2026-10-04T02:30',
    ])
    const back = schedule({ ...of, send_at: '01:30' })
    expect(take(back, Date.parse('2026-04-04T12:00Z'), 2).map(({ at }) => iso(at))).toEqual(['2026-04-04T14:30', '2026-04-04T15:00'])
  })

  test('Apia left out a date: it has no slot, and what lies between belongs to the next', () => {
    const of = schedule({ timezone: 'Pacific/Apia' })
    const slots = take(of, Date.parse('2011-12-28T12:00-10:00'), 3)
    expect(slots.map(dateOf)).toEqual(['2011-12-29', '2011-12-31', '2012-01-01'])
    expect(windowOf(of, 1, slots[1]!)).toEqual({ from: slots[0]!.at, to: slots[1]!.at })
  })

  test('Casablanca goes back for Ramadan and forward after it', () => {
    const of = schedule({ timezone: 'Africa/Casablanca', send_at: '02:00', on_dst_gap: 'skip', on_dst_overlap: 'both' })
    const year = take(of, Date.UTC(2026, 0, 1), 366)
    expect(year.filter(({ opens }) => opens !== null).map(dateOf)).toEqual(['2026-02-15'])
    expect(year.filter(({ isSkipped }) => isSkipped).map(dateOf)).toEqual(['2026-03-22'])
  })

  test('Nuuk leaves out the end of a day: the slot keeps its date', () => {
    const of = schedule({ timezone: 'America/Nuuk', send_at: '23:00' })
    const [slot] = take(of, Date.parse('2026-03-28T12:00Z'), 1)
    expect([dateOf(slot!), wall(of.timezone, slot!.at)]).toEqual(['2026-03-28', '2026-03-29T00:00'])
  })
})

test('a short month has its slot on its last day', () => {
  const of = schedule({ cadence: 'monthly', day_of_month: 31 })
  expect(take(of, Date.UTC(2027, 11, 31, 10), 4).map(dateOf)).toEqual(['2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30'])
})

test('zones are those of the tz database, not offsets', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', ...ZONES.slice(0, 20)])
    expect([name, isZone(name)]).toEqual([name, true])
  for (const name of ['', '+01:00', '-0300', 'local', 'Europe/Nowhere', 'UTC+3', 'Berlin', 'Europe/Berlin\n'])
    expect([name, isZone(name)]).toEqual([name, false])
})
