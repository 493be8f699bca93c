import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { onClocks, reasonText } from '../reports/words.ts'

const TO_DO: Record<string, string> = {
  destination_inactive: 'Start the destination again or choose another one, then resend: the file is kept for seven days.',
  raw_data_off: 'Who runs the service can switch it on again: npm run cli -- project raw-data on.',
  report_paused: 'What was received meanwhile is in no file. A new export can have it.',
  export_failed: 'A new export of the same window makes the file anew.',
  destination_failed: 'The run says what each destination answered. Repair it, then resend: the file is kept for seven days.',
}

/** What is wrong with the last slot, if something is, and what to do. */
export function Trouble({ report: { last_run: last, timezone } }: { report: ScheduledReport }) {
  const [, set] = useAddress()
  if (last === null || last.reason === null || (last.outcome !== 'withheld' && last.outcome !== 'failed')) return null
  return (
    <div className={last.outcome === 'failed' ? 'report-trouble bad' : 'report-trouble'} role="status">
      <Icon name="warn" size={17} />
      <p>
        <strong>
          {t(last.outcome === 'failed' ? 'The slot of {time} has failed: {why}.' : 'The slot of {time} was withheld: {why}.', {
            time: onClocks(last.slot, timezone),
            why: reasonText(last.reason) ?? '',
          })}
        </strong>{' '}
        {t(TO_DO[last.reason] ?? '')}
      </p>
      <button type="button" className="chip" onClick={() => set({ at: last.id }, { push: true })}>
        {t('Show it')}
      </button>
    </div>
  )
}
