import type { ScheduledReportSlot } from '../../../../clients/typescript/src/index.ts'
import { Icon } from '../../parts/icon.tsx'
import { aheadText, clockText, localText, offsetText, type Schedule, utcText } from './words.ts'

/** Slots that are ahead: local time, offset, UTC, how far; and what the clocks do to one. */
export const NextSlots = ({ slots, schedule }: { slots: readonly ScheduledReportSlot[]; schedule: Schedule }) => (
  <ol className="slots">
    {slots.map(slot => {
      const change = clockText(slot, schedule)
      return (
        <li key={slot.at} className={slot.clock_change === 'skipped' ? 'skipped' : undefined}>
          <time dateTime={slot.at}>{localText(slot.local)}</time>
          <span>{offsetText(slot.offset)}</span>
          <span>{utcText(slot.at)}</span>
          <span>{aheadText(slot.seconds_ahead)}</span>
          {change !== undefined && (
            <span className="slot-change">
              <Icon name="clock" size={13} />
              {change}
            </span>
          )}
        </li>
      )
    })}
  </ol>
)
