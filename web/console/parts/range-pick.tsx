import { Popover } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { type Search, useAddress, useAhead } from '../data/address.ts'
import { CALENDAR_RANGES, shifted, textOfRange } from '../data/calendar.ts'
import { nowHere } from '../data/clock.ts'
import { isoDay, RANGES, type Range } from '../data/range.ts'
import { Bars } from './data-state.tsx'
import { bucket } from './format.ts'
import { Icon } from './icon.tsx'
import { useKeys } from './keys.ts'
import { onPress } from './on-press.ts'
import { t } from './t.ts'

const OwnRange = lazy(() => import('./own-range.tsx'))

/** A range in words; days of another year with the year. */
export function rangeText({ from, to, key }: Range, zone: string): string {
  const preset = textOfRange(key)
  if (preset !== undefined) return t(preset)
  const yearOf = (second: number) => isoDay(second, zone).slice(0, 4)
  const long = yearOf(from) !== yearOf(nowHere() / 1000)
  return `${bucket(from, 'day', zone, long)} – ${bucket(to - 1, 'day', zone, long)}`
}

const preset = (range: string): Search => ({ range, from: undefined, to: undefined, unit: undefined, at: undefined })

/** The range of the page: presets, which stay presets in the address, or days of a calendar. `[` and `]` go to the range before and after. */
export function RangePick({
  range,
  zone,
  presets = [...RANGES, ...CALENDAR_RANGES],
}: {
  range: Range
  zone: string
  presets?: readonly string[]
}) {
  const [, set] = useAddress()
  const ahead = useAhead()
  const [opened, setOpened] = useState(false)
  const own = (from: number, to: number) => set({ from: String(from), to: String(to), range: undefined, at: undefined })
  const shift = (by: 1 | -1) => {
    const { from, to } = shifted(range, by, zone)
    own(from, to)
  }
  useKeys({
    '[': { says: t('Earlier range'), run: () => shift(-1) },
    ']': { says: t('Later range'), run: () => shift(1) },
  })
  const text = rangeText(range, zone)
  return (
    <span className="range-pick">
      <button type="button" className="chip square" aria-label={t('Earlier range')} onClick={() => shift(-1)}>
        <Icon name="prev" size={14} />
      </button>
      <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus returnFocus withinPortal={false} shadow="md">
        <Popover.Target>
          <button
            type="button"
            className="chip"
            aria-label={t('Range: {text}', { text })}
            onClick={() => setOpened(!opened)}
            // On a busy page the focus may still be here.
            onKeyDown={({ key }) => key === 'Escape' && setOpened(false)}
          >
            <Icon name="clock" size={14} />
            <span className="chip-text">{text}</span>
            <Icon name="fold" size={12} />
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t('Range')} className="range-box">
          <ul className="range-presets">
            {presets.map(key => (
              <li key={key}>
                <button
                  type="button"
                  className={key === range.key ? 'range-preset on' : 'range-preset'}
                  aria-pressed={key === range.key}
                  onClick={() => {
                    set(preset(key))
                    setOpened(false)
                  }}
                  onPointerDown={onPress(() => ahead(preset(key)))}
                >
                  {t(textOfRange(key) ?? key)}
                </button>
              </li>
            ))}
          </ul>
          {opened && (
            <Suspense fallback={<Bars rows={6} />}>
              <OwnRange
                range={range}
                zone={zone}
                onChosen={(from, to) => {
                  own(from, to)
                  setOpened(false)
                }}
              />
            </Suspense>
          )}
        </Popover.Dropdown>
      </Popover>
      <button
        type="button"
        className="chip square"
        aria-label={t('Later range')}
        disabled={range.to > nowHere() / 1000 - 120}
        onClick={() => shift(1)}
      >
        <Icon name="next" size={14} />
      </button>
    </span>
  )
}
