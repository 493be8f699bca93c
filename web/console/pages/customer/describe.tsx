import type { ReactNode } from 'react'
import type { TimelineEntry } from '../../../../clients/typescript/src/index.ts'
import { shortId } from '../../parts/copy.tsx'
import { Dotted } from '../../parts/dotted.tsx'
import type { IconName } from '../../parts/icon.tsx'
import { runReason } from '../../parts/run-words.ts'
import { StatusChip, toneOf } from '../../parts/status-chip.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import type { EntryOf, Row } from './timeline-rows.ts'

export type Described = { icon: IconName; tone: string; title: string; more?: ReactNode }

/** An entry of the timeline of the customer `id` as it is read. */
export function describe(id: string, { entry, event, times = 1 }: Pick<Row, 'entry' | 'event' | 'times'>): Described {
  switch (entry.kind) {
    case 'purchase':
      return purchase(id, entry, event)
    case 'event':
      return ofEvent(entry)
    case 'access':
      return access(entry)
    case 'automation_run':
      return run(entry)
    case 'delivery':
      return delivery(entry)
    case 'screen':
      return {
        icon: 'eye',
        tone: 'info',
        title: t('Screen {name}', { name: entry.screen_name ?? entry.screen_id }),
        more: entry.shown_at ? (
          <>
            {t('shown')} <Time at={entry.shown_at} />
          </>
        ) : (
          <>
            {t('not shown yet, until')} <Time at={entry.expires_at} />
          </>
        ),
      }
    case 'experiment':
      return {
        icon: 'branch',
        tone: 'info',
        title: t('Experiment {name}: {group}', {
          name: entry.experiment_name ?? entry.id,
          group: entry.group_name ?? entry.group_id,
        }),
        ...(entry.pinned && { more: t('pinned by hand') }),
      }
    case 'change':
      return {
        icon: 'sliders',
        tone: '',
        title: operationText(entry.operation) + (times > 1 ? ` × ${times}` : ''),
        more: byWhom(entry.actor, entry.reason),
      }
    default:
      return unknown(entry)
  }
}

/** Kinds may be added. */
const unknown = (entry: never): Described => ({ icon: 'dots', tone: '', title: plain(String((entry as TimelineEntry).kind)) })

function purchase(id: string, entry: EntryOf<'purchase'>, event: EntryOf<'event'> | undefined): Described {
  const { action, amount, currency, period_type, product_id, platform, expires_at } = entry
  const price = `${amount} ${currency}`
  const owner = entry.user_id === null || entry.user_id === id ? undefined : t('shared by {user}', { user: shortId(entry.user_id) })
  const more = (
    <>
      <Dotted of={[event?.title, product_id, plain(platform), owner]} />
      {action === 'payment' && expires_at && (
        <>
          {' '}
          · {t('until')} <Time at={expires_at} />
        </>
      )}
    </>
  )
  if (action === 'refund') return { icon: 'undo', tone: 'warn', title: t('{price} refunded', { price }), more }
  if (period_type === 'trial') return { icon: 'tag', tone: 'info', title: t('Trial'), more }
  return { icon: 'tag', tone: 'good', title: Number(amount) > 0 ? t('{price} paid', { price }) : t('Free period'), more }
}

function ofEvent({ title, event_name, price, currency, product_id, platform, screen_id }: EntryOf<'event'>): Described {
  const name = title === event_name ? plain(event_name) : title
  const money = price !== null && currency !== null ? `${price} ${currency}` : undefined
  const parts = [money, product_id, screen_id, platform]
  const tone = /billing|expired|canceled|refunded/.test(event_name) ? 'warn' : ''
  return { icon: 'bolt', tone, title: name, ...(parts.some(Boolean) && { more: <Dotted of={parts} /> }) }
}

function access({ action, entitlement_id, expires_at, actor, operation }: EntryOf<'access'>): Described {
  const name = entitlement_id
  const by = byWhom(actor, operation && operationText(operation))
  if (action === 'granted')
    return {
      icon: 'gift',
      tone: 'good',
      title: t('Access to {name} given', { name }),
      more: (
        <>
          {expires_at ? (
            <>
              {t('until')} <Time at={expires_at} />
            </>
          ) : (
            t('for ever')
          )}
          {by && <> · {by}</>}
        </>
      ),
    }
  if (action === 'taken') return { icon: 'close', tone: 'warn', title: t('Access to {name} taken away', { name }), more: by }
  return { icon: 'clock', tone: '', title: t('Access to {name} ran out', { name }) }
}

function run({ automation_name, automation_id, status, reason, event_name, replay_of }: EntryOf<'automation_run'>): Described {
  const tone = toneOf(status)
  return {
    icon: 'flow',
    tone: tone === 'mute' ? '' : tone,
    title: automation_name ?? automation_id,
    more: (
      <>
        <StatusChip status={status} label={status === 'skipped' ? t('Did not start') : plain(status)} />{' '}
        {reason ? runReason(reason) : t('after {event}', { event: plain(event_name).toLowerCase() })}
        {replay_of && <> · {t('run again by hand')}</>}
      </>
    ),
  }
}

function delivery({ event_name, integration_title, integration_id, status, reason, attempt_count }: EntryOf<'delivery'>): Described {
  const tone = toneOf(status)
  return {
    icon: 'plug',
    tone: tone === 'mute' ? '' : tone,
    title: `${plain(event_name)} → ${integration_title ?? integration_id ?? t('deleted integration')}`,
    more: (
      <>
        <StatusChip status={status} /> {counted(attempt_count, '{n} attempt', '{n} attempts')}
        {reason && <> · {plain(reason).toLowerCase()}</>}
      </>
    ),
  }
}

/** `v4SetUserProperties`: `Set user properties`. */
const operationText = (operation: string): string =>
  plain(
    operation
      .replace(/^v\d+/, '')
      .replaceAll(/([A-Z])/g, ' $1')
      .trim()
      .toLowerCase(),
  )

function byWhom(actor: { kind: string; id: string | null } | null, what: string | null): string | undefined {
  const who = actor && [plain(actor.kind).toLowerCase(), actor.id].filter(Boolean).join(' ')
  return [who && t('by {who}', { who }), what].filter(Boolean).join(' · ') || undefined
}
