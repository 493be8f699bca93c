import type { Automation, AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { Icon } from '../../parts/icon.tsx'
import { runReason } from '../../parts/run-words.ts'
import { counted, t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import type { NameOfEvent } from './words.ts'

/** Where no run has started in the range: why. */
export function NothingStarted({
  automation,
  counts,
  nameOf,
}: {
  automation: Automation
  counts: readonly AutomationVersionCounts[]
  nameOf: NameOfEvent
}) {
  if (counts.some(({ started }) => started > 0)) return null
  const { status } = automation
  const { initiators } = automation.data
  const skipped = new Map<string, number>()
  for (const { skipped: own } of counts) for (const [reason, n] of Object.entries(own)) skipped.set(reason, (skipped.get(reason) ?? 0) + n)
  const events = initiators.map(({ uid }) => nameOf(uid)).join(t(' or '))
  return (
    <div className="notice automation-notice" role="status">
      <Icon name="info" size={16} />
      <div>
        <strong>{t('Nothing has started in this range.')}</strong>{' '}
        {initiators.length === 0
          ? t('No event starts it.')
          : status === 'inactive'
            ? t('It is inactive: events start nothing, and none is recorded here.')
            : skipped.size === 0 &&
              t('No event “{events}” has come since it was made. Events that were imported, or are older than 72 hours, start nothing.', {
                events,
              })}
        {skipped.size > 0 && (
          <ul className="automation-why">
            {[...skipped].map(([reason, n]) => (
              <li key={reason}>
                {counted(n, '{n} event: ', '{n} events: ')}
                {runReason(reason)}
              </li>
            ))}
          </ul>
        )}{' '}
        {initiators[0] && (
          <To to="/events" search={{ 'f.name': initiators[0].uid }} className="link">
            {t('Look at these events')}
          </To>
        )}
      </div>
    </div>
  )
}
