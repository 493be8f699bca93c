import type { AutomationRunDetail, AutomationRunStep } from '../../../../clients/typescript/src/index.ts'
import { Id } from '../../parts/copy.tsx'
import { span } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { StatusChip, toneOf } from '../../parts/status-chip.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { Result } from './result.tsx'
import { iconOf, stepTitle } from './step-words.ts'

/** Each step with its result in words and its attempts, and behind them those that come next. */
export function Steps({ run }: { run: AutomationRunDetail }) {
  const { steps, ahead } = run
  return (
    <ol className="line run-line">
      {steps.map(step => (
        <Step key={step.step_id} step={step} />
      ))}
      {ahead.map(next => (
        <li key={next.step_id} className="run-ahead">
          <span className="node">
            <Icon name={iconOf(next.type)} size={13} />
          </span>
          <div>
            <span className="line-title">{stepTitle(next)}</span> <code className="id">{next.step_id}</code>
            <div className="line-more">{t('Comes next')}</div>
          </div>
          <div className="line-when">
            {next.begins_by ? (
              <>
                {t('by')} <Time at={next.begins_by} />
              </>
            ) : (
              t('time open')
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}

function Step({ step }: { step: AutomationRunStep }) {
  const { step_id, status, type, reused, delivery, attempts, started_at } = step
  const tone = status === 'running' || delivery?.status === 'retrying' || delivery?.status === 'held' ? 'warn' : toneOf(status)
  const made = delivery ? delivery.attempts : attempts
  // One attempt without a fault says nothing beside the result.
  const told = made.length > 1 || made.some(({ error }) => error !== null) ? made : []
  return (
    <li>
      <span className={`node ${tone === 'mute' ? '' : tone}`}>
        <Icon name={iconOf(type)} size={13} />
      </span>
      <div>
        <span className="line-title">
          <bdi>{stepTitle(step)}</bdi>
        </span>{' '}
        <code className="id">{step_id}</code> {status !== 'succeeded' && <StatusChip status={status} tone={tone} label={label(step)} />}
        {reused && <span className="soft"> {t('taken over from the run before')}</span>}
        <div className="line-more">
          <Result step={step} />
          {delivery && (
            <>
              {' · '}
              <To to={`/integrations/${encodeURIComponent(delivery.integration_id)}`} search={{ at: delivery.id }} className="link">
                {t('the delivery')}
              </To>
            </>
          )}
        </div>
        {told.length > 0 && (
          <ol className="run-attempts" aria-label={t('Attempts of {step}', { step: step_id })}>
            {told.map(({ number, started_at: at, duration_ms, error }) => (
              <li key={number}>
                <span className={error === null ? 'run-tick' : 'run-tick bad'} aria-hidden="true">
                  {error === null ? '✓' : '✕'}
                </span>
                <span>
                  {t('Attempt {n}', { n: number })} · <Time at={at} />
                  {duration_ms !== null && <> · {span(duration_ms)}</>}
                  {error !== null && (
                    <>
                      {' · '}
                      <bdi className="run-bad">{error}</bdi>
                    </>
                  )}
                </span>
              </li>
            ))}
          </ol>
        )}
        {delivery && delivery.attempt_count > made.length && (
          <div className="line-more">{counted(delivery.attempt_count, '{n} attempt in all', '{n} attempts in all')}</div>
        )}
      </div>
      <div className="line-when">
        <Time at={started_at} />
      </div>
    </li>
  )
}

const label = ({ status, delivery }: AutomationRunStep): string =>
  status === 'running'
    ? t('Retrying')
    : status === 'skipped'
      ? t('Left out')
      : status === 'waiting' && delivery
        ? plain(delivery.status)
        : plain(status)

export const RunId = ({ id }: { id: string }) => (
  <To to={`/runs/${encodeURIComponent(id)}`} className="link">
    <Id>{id}</Id>
  </To>
)
