import type { AutomationRunDetail } from '../../../../clients/typescript/src/index.ts'
import { Pairs } from '../../parts/card.tsx'
import { runReason } from '../../parts/run-words.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'

/** A run in short: how it stands, and what each step did. */
export function RunSteps({ run }: { run: AutomationRunDetail }) {
  const { status, reason, event, created_at, finished_at, due_at, steps } = run
  return (
    <>
      <Pairs
        rows={[
          [t('Status'), <StatusChip key="status" status={status} label={status === 'skipped' ? t('Did not start') : plain(status)} />],
          ...(reason ? [[t('Why'), runReason(reason)] as const] : []),
          [t('Event'), plain(event.event_name)],
          [t('Began'), <Time key="began" at={created_at} />],
          finished_at ? [t('Ended'), <Time key="ended" at={finished_at} />] : [t('Goes on'), <Time key="due" at={due_at} />],
        ]}
      />
      {steps.length > 0 && (
        <ol className="run-steps">
          {steps.map(step => (
            <li key={step.step_id}>
              <span className="line-title">{step.step_id}</span> <StatusChip status={step.status} />
              <div className="line-more">
                {plain(step.type)}
                {step.reason && <> · {plain(step.reason).toLowerCase()}</>}
                {step.attempts.length > 1 && <> · {counted(step.attempts.length, '{n} attempt', '{n} attempts')}</>}
                {step.attempts.at(-1)?.error && <> · {step.attempts.at(-1)?.error}</>}
              </div>
            </li>
          ))}
        </ol>
      )}
    </>
  )
}
