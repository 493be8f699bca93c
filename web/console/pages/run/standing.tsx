import type { ReactNode } from 'react'
import type { AutomationRunDetail } from '../../../../clients/typescript/src/index.ts'
import { Icon } from '../../parts/icon.tsx'
import { runReason } from '../../parts/run-words.ts'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'

/** What one has to know of a run at first sight: that it fails, is held, was stopped, or never began, and why. */
export function Standing({ run }: { run: AutomationRunDetail }): ReactNode {
  const { status, reason, is_retrying, next_attempt_at, last_error, automation_status, current_step, finished_at } = run
  const why = reason === null ? undefined : runReason(reason)
  // A step that is given up at once has its reason as its error.
  const error = last_error && last_error !== reason && (
    <>
      {' '}
      {t('It said:')} <bdi className="run-error">{last_error}</bdi>
    </>
  )
  if (status === 'failed') {
    const failed = run.steps.find(step => step.status === 'failed')?.step_id
    return (
      <Notice bad>
        {failed
          ? t('Failed at {step}: {why}.', { step: failed, why: why ?? t('no reason was recorded') })
          : t('Failed: {why}.', { why: why ?? '' })}
        {error}
      </Notice>
    )
  }
  if (is_retrying)
    return (
      <Notice>
        {t('{step} has failed and is tried again', { step: current_step ?? t('A step') })}{' '}
        {next_attempt_at ? (
          <>
            {t('at')} <Time at={next_attempt_at} />
          </>
        ) : (
          t('when its integration takes deliveries again')
        )}
        .{error}
      </Notice>
    )
  if (finished_at === null && automation_status === 'paused')
    return <Notice>{t('Held: its automation is paused. What falls due meanwhile is done once it is active again.')}</Notice>
  if (status === 'skipped') return <Notice>{t('It did not start: {why}.', { why: why ?? t('no reason was recorded') })}</Notice>
  if (status === 'cancelled') return <Notice>{t('It was cancelled: {why}.', { why: why ?? t('no reason was recorded') })}</Notice>
  return null
}

const Notice = ({ bad, children }: { bad?: boolean; children: ReactNode }) => (
  <div className={bad ? 'notice run-failed' : 'notice warn'}>
    <Icon name="warn" />
    <span>{children}</span>
  </div>
)
