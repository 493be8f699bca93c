import type { IntegrationDeliveryDetail } from '../../../../clients/typescript/src/index.ts'
import { span } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { errorText } from '../integrations/words.ts'

type Attempt = IntegrationDeliveryDetail['attempts'][number]
const isTaken = ({ error, duration_ms }: Attempt) => error === null && duration_ms !== null

/** Each attempt with its answer, the latest first. */
export function Attempts({ of: { attempts, attempt_count } }: { of: IntegrationDeliveryDetail }) {
  return (
    <>
      <h3 className="drawer-title">{t('Attempts')}</h3>
      {attempts.length === 0 && <p className="soft delivery-note">{t('It was not tried yet.')}</p>}
      {attempt_count > attempts.length && (
        <p className="soft delivery-note">{t('The last {n} of {all}.', { n: attempts.length, all: attempt_count })}</p>
      )}
      <ul className="line attempts">
        {[...attempts].reverse().map(attempt => (
          <li key={attempt.number}>
            <span className={`node ${isTaken(attempt) ? 'good' : attempt.duration_ms === null ? 'warn' : 'bad'}`}>
              <Icon name={isTaken(attempt) ? 'check' : attempt.duration_ms === null ? 'warn' : 'close'} size={13} />
            </span>
            <div>
              <Says attempt={attempt} />
            </div>
            <div className="line-when">
              <Time at={attempt.started_at} />
            </div>
          </li>
        ))}
      </ul>
    </>
  )
}

function Says({ attempt }: { attempt: Attempt }) {
  const { number, http_status, duration_ms, error, response, same_request } = attempt
  // What only repeats the status says nothing more.
  const why = error !== null && error !== `http_${http_status}` ? errorText(error) : undefined
  return (
    <>
      <span className="line-title">
        {number}. {http_status ?? (duration_ms === null ? t('Not recorded') : t('No answer'))}
      </span>{' '}
      {duration_ms !== null && <span className="soft">{t('in {time}', { time: span(duration_ms) })}</span>}
      {why && <div className="line-more">{why}</div>}
      {same_request === false && <div className="line-more">{t('It sent something else than what is below: that has changed since.')}</div>}
      {response ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
        <pre className="answer" tabIndex={0}>
          {response}
        </pre>
      ) : (
        http_status !== null && <div className="line-more">{t('without a text')}</div>
      )}
    </>
  )
}
