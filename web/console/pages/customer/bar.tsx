import { useState } from 'react'
import { startOf } from '../../data/range.ts'
import { usePreferences } from '../../data/session.ts'
import { dateFormat } from '../../parts/format.ts'
import { counted, t } from '../../parts/t.ts'
import { day, ownerOf, PERIODS, periodText, spanText } from './period-texts.ts'
import type { Period, Story } from './periods.ts'

/**
 * The bar of the purchases: one Tab stop, arrows go from period to period, and the line below says what the pointer or the keyboard is at.
 * The list below it is its text.
 */
export function Bar({ id, story, now }: { id: string; story: Story; now: number }) {
  const { zone } = usePreferences()
  const [at, setAt] = useState<number>()
  const { periods, marks, gaps, lanes, from, to } = story
  const x = (time: number) => `${(((Math.min(to, Math.max(from, time)) - from) / (to - from)) * 100).toFixed(3)}%`
  const width = (start: number, end: number) => `${((Math.max(0, Math.min(to, end) - start) / (to - from)) * 100).toFixed(3)}%`
  const shown = at === undefined ? undefined : periods[at]
  const label = t('{periods} from {from} to {to}', {
    periods: counted(periods.length, '{n} period', '{n} periods'),
    from: day(from, zone),
    to: day(to, zone),
  })
  const move = (key: string): number | undefined => {
    const last = periods.length - 1
    if (key === 'Home') return 0
    if (key === 'End') return last
    if (key === 'ArrowRight') return Math.min(last, (at ?? -1) + 1)
    if (key === 'ArrowLeft') return Math.max(0, (at ?? last + 1) - 1)
    return undefined
  }
  return (
    <div>
      {/* biome-ignore lint/a11y/useSemanticElements: a group of periods that the arrows walk through is no form */}
      <div
        className="bar-plot"
        role="group"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrows walk through its periods
        tabIndex={0}
        onBlur={() => setAt(undefined)}
        onMouseLeave={() => setAt(undefined)}
        onKeyDown={event => {
          if (event.key === 'Escape' && at !== undefined) return setAt(undefined)
          const next = move(event.key)
          if (next === undefined || periods.length === 0) return
          event.preventDefault()
          setAt(next)
        }}
      >
        <div className="bar-lanes" aria-hidden="true" style={{ height: lanes * 32 }}>
          {periods.map((period, index) => (
            <Stretch
              key={period.key}
              period={period}
              on={index === at}
              now={now}
              shared={ownerOf(period.purchase, id) !== undefined}
              place={(start, end) => ({ left: x(start), width: width(start, end), top: period.lane * 32 + 3 })}
              onPoint={() => setAt(index)}
            />
          ))}
          {gaps.map(({ start, end }) => (
            <span key={start} className="bar-gap" style={{ left: x(start), width: width(start, end) }} />
          ))}
          {marks.map(({ key, at: time, purchase }) => (
            <i key={key} className="bar-mark" style={{ left: x(time) }} title={`${purchase.product_id}, ${day(time, zone)}`} />
          ))}
          <span className="bar-today" style={{ left: x(now) }} />
        </div>
        <div className="bar-axis" aria-hidden="true">
          {ticksOf(from, to, zone)
            .map(time => ({ time, apart: Math.abs(time - now) / (to - from) }))
            .filter(({ apart }) => apart > TOO_NEAR)
            .map(({ time, apart }) => (
              <span
                key={time}
                className={[isLate(time, from, to) && 'late', apart < 4 * TOO_NEAR && 'near'].filter(Boolean).join(' ') || undefined}
                style={{ left: x(time) }}
              >
                {dateFormat('en-GB', { timeZone: zone, month: 'short', year: 'numeric' }).format(time)}
              </span>
            ))}
          <span className={`bar-today-text${isLate(now, from, to) ? ' late' : ''}`} style={{ left: x(now) }}>
            {t('today')}
          </span>
        </div>
      </div>
      <p className="bar-says" aria-live="polite">
        {shown ? `${spanText(shown, zone)} · ${periodText(shown)}${withOwner(ownerOf(shown.purchase, id))}` : label}
      </p>
    </div>
  )
}

const withOwner = (owner: string | undefined) => (owner === undefined ? '' : ` · ${owner}`)
const isLate = (time: number, from: number, to: number) => (time - from) / (to - from) > 0.92

/** A period; what of it is ahead of now is hatched. */
function Stretch({
  period,
  on,
  now,
  shared,
  place,
  onPoint,
}: {
  period: Period
  on: boolean
  now: number
  shared: boolean
  place: (start: number, end: number) => { left: string; width: string; top: number }
  onPoint: () => void
}) {
  const { kind, start } = period
  const end = period.end ?? now
  const name = ['period', kind, on && 'on', shared && 'shared'].filter(Boolean).join(' ')
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: pointing shows what the keyboard shows, too
    <span onMouseEnter={onPoint}>
      {start < now && (
        <span className={name} style={place(start, Math.min(end, now))}>
          {PERIODS[kind].sign}
        </span>
      )}
      {end > now && <span className={`${name} ahead`} style={place(Math.max(start, now), end)} />}
    </span>
  )
}

/** The part of the bar that a label of a month takes from that of today. */
const TOO_NEAR = 0.06
const STEPS = [1, 2, 3, 6, 12, 24, 60]
const DAY = 86_400_000
const MOST_TICKS = 9

/** Begins of months in the zone, so many as have room. */
function ticksOf(from: number, to: number, zone: string): number[] {
  const months = (to - from) / (30.44 * DAY)
  const step = STEPS.find(size => months / size <= MOST_TICKS) ?? 120
  const first = new Date(from)
  const ticks: number[] = []
  for (let month = 0; month <= months + 1; month++) {
    const date = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month, 1))
    if (date.getUTCMonth() % Math.min(step, 12) !== 0 || (step > 12 && date.getUTCFullYear() % (step / 12) !== 0)) continue
    const time = startOf(date.toISOString().slice(0, 10), zone) * 1000
    if (time >= from && time <= to) ticks.push(time)
  }
  return ticks
}
