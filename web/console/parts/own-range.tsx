import './own-range.css'
import { DatePicker } from '@mantine/dates'
import { useState } from 'react'
import { dayAfter } from '../data/calendar.ts'
import { nowHere } from '../data/clock.ts'
import { isoDay, type Range, startOf } from '../data/range.ts'
import { usePreferences } from '../data/session.ts'
import { t } from './t.ts'

/** Days of a calendar, in the zone of the page: the first one and the last one. */
export default function OwnRange({ range, zone, onChosen }: { range: Range; zone: string; onChosen: (from: number, to: number) => void }) {
  const { first_weekday } = usePreferences()
  const now = Math.floor(nowHere() / 60_000) * 60
  const [days, setDays] = useState<[string | null, string | null]>([isoDay(range.from, zone), isoDay(range.to - 1, zone)])
  return (
    <div className="own-range">
      <p className="own-range-about">{t('Or your own: the first and the last day, in {zone}', { zone })}</p>
      <DatePicker
        type="range"
        allowSingleDateInRange
        hideOutsideDates
        weekendDays={[]}
        value={days}
        defaultDate={days[1] ?? isoDay(now, zone)}
        maxDate={isoDay(now, zone)}
        firstDayOfWeek={first_weekday as 0 | 1 | 6}
        size="sm"
        onChange={chosen => {
          setDays(chosen)
          const [first, last] = chosen
          if (first && last) onChosen(startOf(first, zone), Math.min(now, startOf(dayAfter(last, 1), zone)))
        }}
        ariaLabels={{ previousMonth: t('Previous month'), nextMonth: t('Next month') }}
      />
    </div>
  )
}
