import type { Integration } from '../../../../clients/typescript/src/index.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { useStatus } from './use-status.ts'
import { errorText, heldText } from './words.ts'

/** What an integration that does not send has happened to it, what waits for it, and the way on. Nothing for one that sends. */
export function Trouble({ of: integration, isLink }: { of: Integration; isLink?: boolean }) {
  const denied = useDenied('editor', usePlace()?.project)
  const { start, isPending, error } = useStatus(integration)
  const { active, id, title, held } = integration
  if (active === 1 || (active === 0 && held === 0)) return null
  return (
    <section className={active === 2 ? 'trouble bad' : 'trouble warn'} aria-label={t('State of {title}', { title })}>
      <Icon name={active === 2 ? 'warn' : 'clock'} size={18} />
      <div>
        <strong>
          {isLink ? (
            <To to={`/integrations/${id}`} className="link-quiet">
              {title}
            </To>
          ) : (
            title
          )}{' '}
          {active === 2 ? t('does not take what it gets.') : t('is paused.')}
        </strong>
        {active === 2 && <p>{<Cause of={integration} />}</p>}
        <p>
          {t('Nothing is lost.')} <Waiting of={integration} /> {active === 2 && <Next of={integration} />}
        </p>
        {error && <Fault error={error} />}
      </div>
      {active === 2 && (
        <Act denied={denied} size="xs" variant="default" loading={isPending} onClick={start}>
          {t('Start again')}
        </Act>
      )}
    </section>
  )
}

function Cause({ of: { last_error_message, last_error_at, delivery_error_count } }: { of: Integration }) {
  return (
    <>
      {counted(delivery_error_count, '{n} attempt has failed since the last success.', '{n} attempts have failed since the last success.')}{' '}
      {last_error_message && (
        <>
          {t('The last one:')} <bdi>{errorText(last_error_message)}</bdi>, <Time at={last_error_at} relative />.
        </>
      )}
    </>
  )
}

function Waiting({ of: { held, held_since } }: { of: Integration }) {
  if (held === 0) return t('No delivery waits; events that come are held in their order.')
  return (
    <>
      {held === 1 ? t('1 delivery is held') : t('{n} deliveries are held', { n: heldText(held) })}
      {held_since && (
        <>
          {' '}
          {t('in order, the first since')} <Time at={held_since} />
        </>
      )}
      .
    </>
  )
}

function Next({ of: { next_probe_at, held } }: { of: Integration }) {
  if (next_probe_at !== null)
    return (
      <>
        {t('One of them is tried')} <Time at={next_probe_at} relative />
        {t('; the first success starts it again.')}
      </>
    )
  return held === 0 ? null : t('None is tried by itself: the address has said that it is gone for good (410).')
}
