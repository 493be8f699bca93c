import type { ReactNode } from 'react'
import type { AutomationRunStep } from '../../../../clients/typescript/src/index.ts'
import { shortId } from '../../parts/copy.tsx'
import { runReason } from '../../parts/run-words.ts'
import { plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { tookText } from './step-words.ts'

const text = (value: unknown): string => (value === null || value === undefined ? '' : String(value))

/** What became of a step, in words. */
export function Result({ step }: { step: AutomationRunStep }): ReactNode {
  const { status, reason, due_at, next_attempt_at, delivery } = step
  if (status === 'failed')
    return (
      <span className="run-bad">
        {t('Failed')}
        {reason && <>: {runReason(reason)}</>}
      </span>
    )
  if (status === 'skipped') return <>{reason ? t('Left out: {why}', { why: runReason(reason) }) : t('Left out')}</>
  if (status === 'cancelled') return <>{t('Cancelled before it ended')}</>
  if (status === 'running')
    return (
      <span className="run-warn">
        {t('Is tried again')} {next_attempt_at ? <Time at={next_attempt_at} relative /> : t('at once')}
      </span>
    )
  if (status === 'waiting' && delivery) return <Underway delivery={delivery} />
  if (status === 'waiting')
    return step.type === 'webhook' ? (
      t('Waits for its delivery')
    ) : (
      <>
        {t('Waits until')} <Time at={due_at} />
      </>
    )
  return <Done step={step} />
}

function Underway({ delivery: { status, next_attempt_at } }: { delivery: NonNullable<AutomationRunStep['delivery']> }) {
  if (status === 'held') return <span className="run-warn">{t('Its delivery is held: the integration takes nothing at present')}</span>
  if (status === 'retrying')
    return (
      <span className="run-warn">
        {t('Its delivery is tried again')} {next_attempt_at && <Time at={next_attempt_at} relative />}
      </span>
    )
  return <>{t('Its delivery is under way')}</>
}

function Done({ step }: { step: AutomationRunStep }) {
  const { type, started_at, finished_at } = step
  const result = step.result ?? {}
  const took = finished_at === null ? undefined : tookText(Date.parse(finished_at) - Date.parse(started_at))
  switch (type) {
    case 'delay':
    case 'wait_until':
      return <>{took ? t('Waited {span}', { span: took }) : t('Waited')}</>
    case 'wait_for_event':
      if (result.outcome !== 'event') return <>{t('It did not come in time')}</>
      return (
        <>
          {t('It came')}
          {result.event_name ? `: ${plain(text(result.event_name))}` : ''}{' '}
          {result.event_id ? (
            <To to="/events" search={{ at: text(result.event_id) }} className="link">
              {t('the event')}
            </To>
          ) : null}
        </>
      )
    case 'branch':
      return <>{result.taken === 'then' ? t('Yes: the conditions held') : t('No: not all conditions held')}</>
    case 'webhook':
      return <>{result.http_status ? t('Answered {status}', { status: text(result.http_status) }) : t('Delivered')}</>
    case 'email':
      return <>{t('Sent to {to}', { to: text(result.to) })}</>
    case 'push':
      return <>{t('Sent through {provider}', { provider: plain(text(result.provider)) })}</>
    case 'screen':
      return <>{t('Is shown the next time the app asks: {id}', { id: shortId(text(result.pending_screen_id)) })}</>
    case 'grant_entitlement':
      return result.expires_at ? (
        <>
          {t('Access until')} <Time at={text(result.expires_at)} />
        </>
      ) : (
        t('Access for ever')
      )
    case 'set_property':
      return (
        <>
          {t('It is now')} <bdi>“{text(result.value)}”</bdi>
        </>
      )
    case 'exit':
      return <>{t('The run ended here')}</>
    default:
      return <>{plain(step.status)}</>
  }
}
