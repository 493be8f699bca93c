// What the pages of runs and of the audit log draw and say, as functions.
import { describe, expect, test } from 'vitest'
import { durationText } from '../../../web/console/pages/automation/duration.ts'
import { placeOf, stripOf } from '../../../web/console/pages/run/strip.ts'
import { differenceOf } from '../../../web/console/parts/difference-lines.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 29, 12, minute)).toISOString()
const ms = (minute: number) => Date.parse(at(minute))
const STEP = { status: 'succeeded', due_at: null, next_attempt_at: null, reused: false, attempts: [], delivery: null, result: null }
const attempt = (minute: number, error: string | null) => ({ number: minute, started_at: at(minute), duration_ms: 5, error })

/** A run that waited, whose webhook fails since, with a wait and an end ahead. */
const run = {
  created_at: at(0),
  finished_at: null,
  steps: [
    { ...STEP, step_id: 'rest', type: 'delay', started_at: at(0), finished_at: at(10) },
    {
      ...{ ...STEP, step_id: 'hook', type: 'webhook', status: 'waiting', started_at: at(10), finished_at: null, due_at: at(1000) },
      delivery: { status: 'retrying', next_attempt_at: at(30), attempts: [attempt(10, 'http_503'), attempt(15, 'http_503')] },
    },
  ],
  ahead: [
    { step_id: 'nap', type: 'delay', begins_by: at(40), definition: null },
    { step_id: 'end', type: 'exit', begins_by: null, definition: null },
  ],
}
const strip = (changes: object = {}, now = ms(20)) => stripOf({ ...run, ...changes } as never, now)

describe('the strip of a run', () => {
  test('has what was done and waited, what lies between attempts, and what is ahead', () => {
    const { lanes, from, last, now } = strip()
    expect([from, last, now]).toEqual([ms(0), ms(40), ms(20)])
    expect(
      lanes.map(({ id, pieces }) => [id, pieces.map(({ kind, from, to }) => [kind, (from - ms(0)) / 60_000, (to - ms(0)) / 60_000])]),
    ).toEqual([
      ['rest', [['wait', 0, 10]]],
      [
        'hook',
        [
          ['retry', 10, 20],
          ['ahead', 20, 30],
        ],
      ],
      ['nap', [['ahead', 40, 40]]],
      ['end', []],
    ])
    expect(lanes[1]!.ticks).toEqual([10, 15].map(minute => ({ at: ms(minute), isBad: true, text: 'http_503' })))
    expect(lanes.map(({ isOpen }) => isOpen)).toEqual([false, false, false, true])
  })

  test('places each time so that it can be read back', () => {
    const drawn = strip()
    for (const time of [drawn.from, ms(10), ms(20), drawn.last])
      expect(drawn.from + (placeOf(drawn, time) / 100) * (drawn.to - drawn.from)).toBeCloseTo(time, 0)
    expect([placeOf(drawn, drawn.from - 1), placeOf(drawn, drawn.to + 1)]).toEqual([0, 100])
  })

  test('of a run that has ended ends with it, and draws nothing of steps that were taken over', () => {
    const [rest] = run.steps
    const ended = strip({ finished_at: at(12), steps: [{ ...rest, reused: true, started_at: at(-900), finished_at: at(-800) }], ahead: [] })
    expect([ended.from, ended.to, ended.now]).toEqual([ms(0), ms(12), undefined])
    expect(ended.lanes[0]).toMatchObject({ pieces: [], ticks: [], isReused: true })
  })

  test('has a width where nothing took any time', () => {
    const { from, to } = strip({ finished_at: at(0), steps: [], ahead: [] })
    expect(to - from).toBe(1_000)
  })
})

test.each([
  ['P2D', '2 days'],
  ['PT1H', '1 hour'],
  ['P1DT12H', '1 day 12 hours'],
  ['P1M', '1 month'],
  ['PT1M', '1 minute'],
  ['soon', 'soon'],
])('a duration of %s is said as %s', (iso, text) => expect(durationText(iso)).toBe(text))

describe('the difference of two sides', () => {
  const shown = (before: unknown, after: unknown) =>
    differenceOf(before, after).map(line =>
      line.kind === 'gap' ? `… ${line.lines}` : `${{ same: ' ', before: '-', after: '+' }[line.kind]}${line.text}`,
    )

  test('has the lines that changed, two around them, and how many are left out', () => {
    const before = { a: 1, b: 2, c: 3, d: { e: [1, 2] }, f: 4, g: 5 }
    expect(shown(before, { ...before, g: 6 })).toEqual(['… 9', '   },', '   "f": 4,', '-  "g": 5', '+  "g": 6', ' }'])
  })

  test('takes a comma at the end of a line for no difference', () => {
    expect(shown({ a: 1 }, { a: 1, b: 2 })).toEqual([' {', '   "a": 1,', '+  "b": 2', ' }'])
  })

  test('has all of a thing that was made or removed', () => {
    expect(shown(null, { a: 1 })).toEqual(['+{', '+  "a": 1', '+}'])
    expect(shown({ a: 1 }, null)).toEqual(['-{', '-  "a": 1', '-}'])
    expect(shown(null, null)).toEqual([])
  })

  test('of very long sides has one after the other', () => {
    const long = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`k${n}`, n]))
    expect(differenceOf(long, { ...long, k0: -1 }).filter(({ kind }) => kind === 'same')).toEqual([])
  })
})
