import type { AutomationRunDetail } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { runReason, runStatus } from '../../parts/run-words.ts'
import { StatusChip, toneOf } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

const SHOWN = 6

/** What else automations did for the person. */
export function OtherRuns({ run, user }: { run: AutomationRunDetail; user: string }) {
  const input = { query: { 'filter[user_id]': user, limit: SHOWN + 1 } }
  const read = useRead('v4ListAllAutomationRuns', input, { topics: ['runs'] })
  return (
    <Card
      flush
      title={t('Other runs of this customer')}
      right={
        <To to="/runs" search={{ 'f.user_id': user }} className="link">
          {t('All')}
        </To>
      }
    >
      <DataState
        of={read}
        rows={3}
        isEmpty={({ data }) => data.every(({ id }) => id === run.id)}
        empty={<p className="soft run-none">{t('There is no other run of this customer.')}</p>}
      >
        {({ data }) => (
          <ul className="line live">
            {data
              .filter(({ id }) => id !== run.id)
              .slice(0, SHOWN)
              .map(other => {
                const status = other.is_retrying ? 'retrying' : other.status
                const tone = toneOf(status)
                return (
                  <li key={other.id}>
                    <span className={`node ${tone === 'mute' ? '' : tone}`}>
                      <Icon name="flow" size={13} />
                    </span>
                    <div>
                      <To to={`/runs/${encodeURIComponent(other.id)}`} className="line-title">
                        <bdi>{other.automation_name ?? other.automation_id}</bdi>
                      </To>
                      <div className="line-more">
                        <StatusChip status={status} label={runStatus(status)} />{' '}
                        {other.reason && other.reason !== 'exit' && runReason(other.reason)}
                      </div>
                    </div>
                    <div className="line-when">
                      <Time at={other.created_at} relative />
                    </div>
                  </li>
                )
              })}
          </ul>
        )}
      </DataState>
    </Card>
  )
}
