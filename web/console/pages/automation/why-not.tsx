import type { AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { Card } from '../../parts/card.tsx'
import { count } from '../../parts/format.ts'
import { runReason } from '../../parts/run-words.ts'
import { counted, t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

/** Why events started nothing: skips by reason, the most frequent one first. */
export function WhyNot({ id, counts }: { id: string; counts: AutomationVersionCounts }) {
  const reasons = Object.entries(counts.skipped).sort(([, a], [, b]) => b - a)
  const all = { 'f.automation_id': id, 'f.status': 'skipped' }
  return (
    <Card
      title={t('What did not start')}
      right={
        reasons.length > 0 && (
          <To to="/runs" search={all} className="link">
            {t('These runs')}
          </To>
        )
      }
    >
      {reasons.length === 0 ? (
        <p className="soft">
          {counts.started > 0 ? t('Every event of this range has started a run.') : t('No event of this range was skipped.')}
        </p>
      ) : (
        <dl className="pairs automation-reasons">
          {reasons.map(([reason, n]) => (
            <div key={reason}>
              <dt>{runReason(reason)}</dt>
              <dd>
                <b className="num" title={counted(n, '{n} event', '{n} events')}>
                  {count(n)}
                </b>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Card>
  )
}
