import type { AutomationRunStep, AutomationStepAhead } from '../../../../clients/typescript/src/index.ts'
import { shortId } from '../../parts/copy.tsx'
import { span } from '../../parts/format.ts'
import type { IconName } from '../../parts/icon.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { durationText } from '../automation/duration.ts'

type Named = Pick<AutomationRunStep | AutomationStepAhead, 'type' | 'definition'>

const ICONS: Readonly<Record<string, IconName>> = {
  delay: 'clock',
  wait_until: 'clock',
  wait_for_event: 'bolt',
  branch: 'branch',
  webhook: 'plug',
  email: 'mail',
  push: 'bolt',
  screen: 'eye',
  grant_entitlement: 'gift',
  set_property: 'sliders',
  exit: 'leave',
}
export const iconOf = (type: string): IconName => ICONS[type] ?? 'flow'

export const isWait = (type: string): boolean => type === 'delay' || type === 'wait_until' || type === 'wait_for_event'

/** Times of steps are whole seconds. */
export const tookText = (ms: number): string => (ms < 1_000 ? t('under 1 s') : span(ms))

const eventsOf = (event: unknown): string =>
  [event]
    .flat()
    .map(one => plain(String(one)))
    .join(t(' or '))

const branchTitle = (conditions: unknown): string =>
  Array.isArray(conditions) && conditions.length > 0
    ? counted(conditions.length, 'Branch by {n} condition', 'Branch by {n} conditions')
    : t('Branch without a condition')

/** What a step does, as its version says it. */
export function stepTitle({ type, definition }: Named): string {
  const step = (definition ?? {}) as Record<string, unknown>
  const of = (name: string) => (typeof step[name] === 'string' ? (step[name] as string) : '')
  if (definition === null) return plain(type)
  switch (type) {
    case 'delay':
      return t('Wait for {span}', { span: durationText(of('duration')) })
    case 'wait_until':
      return t('Wait until {time}, {zone}', { time: of('time'), zone: of('timezone') })
    case 'wait_for_event':
      return t('Wait for {event}, {span} at most', { event: eventsOf(step.event), span: durationText(of('timeout')) })
    case 'branch':
      return branchTitle(step.conditions)
    case 'webhook':
      return t('Webhook')
    case 'email':
      return t('E-mail “{subject}”', { subject: of('subject') })
    case 'push':
      return t('Push {id}', { id: shortId(of('push')) })
    case 'screen':
      return t('Screen {id}', { id: shortId(of('screen')) })
    case 'grant_entitlement':
      return of('duration') === ''
        ? t('Give {access} for ever', { access: of('entitlement_id') })
        : t('Give {access} for {span}', { access: of('entitlement_id'), span: durationText(of('duration')) })
    case 'set_property':
      return t('Set {key} to “{value}”', { key: of('key'), value: of('value') })
    case 'exit':
      return t('End of the run')
    default:
      return plain(type)
  }
}
