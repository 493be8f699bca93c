import type { AutomationData, AutomationStep, Condition } from '../../../../clients/typescript/src/index.ts'
import type { IconName } from '../../parts/icon.tsx'
import { plain, t } from '../../parts/t.ts'
import { durationText } from './duration.ts'

export type StepType = AutomationStep['type']
export type StepOf<Type extends StepType> = Extract<AutomationStep, { type: Type }>

/** How each type is called and shown. */
export const STEP_TYPES: Readonly<Record<StepType, { icon: IconName; name: string }>> = {
  delay: { icon: 'clock', name: 'Wait' },
  wait_until: { icon: 'clock', name: 'Wait until a time of day' },
  wait_for_event: { icon: 'eye', name: 'Wait for an event' },
  branch: { icon: 'branch', name: 'Branch' },
  webhook: { icon: 'plug', name: 'Send to a webhook' },
  email: { icon: 'mail', name: 'Send an e-mail' },
  push: { icon: 'bolt', name: 'Send a push' },
  screen: { icon: 'grid', name: 'Show a screen' },
  grant_entitlement: { icon: 'gift', name: 'Give access' },
  set_property: { icon: 'tag', name: 'Set a property' },
  exit: { icon: 'leave', name: 'End the run' },
}
export const stepLook = (type: string): { icon: IconName; name: string } =>
  STEP_TYPES[type as StepType] ?? { icon: 'bolt', name: plain(type) }

/** The name of an event type by its uid or slug, or of a thing of the project by its id. */
export type NameOfEvent = (uid: string) => string

const COMPARATORS: Readonly<Record<string, string>> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  contains: 'contains',
  not_contains: 'does not contain',
}
export const comparatorText = (comparator: string) => t(COMPARATORS[comparator] ?? comparator)
export const COMPARATOR_CODES = Object.keys(COMPARATORS) as Condition['comparator'][]

const conditionText = ({
  metric,
  comparator,
  value,
  negate,
}: Pick<Condition, 'metric' | 'comparator' | 'value'> & { negate?: boolean }) => {
  const text = `${plain(metric).replace(':', ': ')} ${comparatorText(comparator)} ${value === '' ? t('empty') : value}`
  return negate ? t('not ({text})', { text }) : text
}

/** Marks that turn round what stands behind them: within a sentence of ours they would turn that. */
const TURNING = /[\u202A-\u202E\u2066-\u2069]/g

/** What a step does, in words. */
export const stepText = (step: AutomationStep, nameOf: NameOfEvent): string => sentenceOf(step, nameOf).replaceAll(TURNING, '')

function sentenceOf(step: AutomationStep, nameOf: NameOfEvent): string {
  switch (step.type) {
    case 'delay':
      return durationText(step.duration)
    case 'wait_until':
      return t('until {time} in {zone}', { time: step.time, zone: step.timezone })
    case 'wait_for_event':
      return t('for {events}, at most {time}', {
        events: [step.event].flat().map(nameOf).join(t(' or ')),
        time: durationText(step.timeout),
      })
    case 'branch':
      return step.conditions.length === 0 ? t('always yes') : step.conditions.map(conditionText).join(t(' and '))
    case 'webhook':
      return t('the event, to {id}', { id: nameOf(step.integration_id) })
    case 'email':
      return step.to ? t('“{subject}” to {to}', { subject: step.subject, to: step.to }) : t('“{subject}”', { subject: step.subject })
    case 'push':
      return nameOf(step.push)
    case 'screen':
      return nameOf(step.screen)
    case 'grant_entitlement':
      return t('{id} for {time}', { id: step.entitlement_id, time: step.duration ? durationText(step.duration) : t('ever') })
    case 'set_property':
      return `${step.key} = ${step.value}`
    case 'exit':
      return t('nothing follows')
    default:
      return ''
  }
}

/** For whom it starts, and how often. */
export function ruleTexts({ platform, segments, frequency, reentry }: AutomationData): string[] {
  return [
    platform && t('events of {platform}', { platform }),
    segments && t('people of a segment'),
    frequency &&
      (frequency.per === 'lifetime'
        ? t('at most {n} for each person', { n: frequency.max_runs_per_user })
        : t('at most {n} a {per} for each person', { n: frequency.max_runs_per_user, per: frequency.per })),
    !reentry && t('one at a time'),
  ].filter((text): text is string => Boolean(text))
}

/** The steps that a run executes: `steps`, or else the actions, each as a step of that name. */
export const stepsOf = ({ steps, actions }: Pick<AutomationData, 'steps' | 'actions'>): AutomationStep[] =>
  steps ?? [
    ...(actions.push === undefined ? [] : [{ id: 'push', type: 'push' as const, push: actions.push }]),
    ...(actions.screen === undefined ? [] : [{ id: 'screen', type: 'screen' as const, screen: actions.screen }]),
  ]

/** All steps of all levels. */
export const allOf = (steps: readonly AutomationStep[]): AutomationStep[] =>
  steps.flatMap(step => [step, ...waysOf(step).flatMap(({ steps: own }) => allOf(own))])

/** The lists in a step: how one comes into each, and the name of that way in the counts. */
export function waysOf(step: AutomationStep): { way: string; says: string; steps: AutomationStep[] }[] {
  if (step.type === 'branch')
    return [
      { way: 'then', says: t('yes'), steps: step.then ?? [] },
      { way: 'else', says: t('no'), steps: step.else ?? [] },
    ]
  if (step.type === 'wait_for_event')
    return [
      { way: 'event', says: t('it came'), steps: [] },
      { way: 'timeout', says: t('not in time'), steps: step.on_timeout ?? [] },
    ]
  return []
}
