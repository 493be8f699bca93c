import type { ConditionInput } from '../../../../clients/typescript/src/index.ts'
import { counted, t } from '../t.ts'
import { countryText } from './countries.ts'
import { CHOICES, comparatorText, entitlementIn, kindOf, metricText } from './metrics.ts'
import { timeFormOf, UNITS } from './span.ts'

/** The name of a segment or an experiment by its id. */
export type NameOf = (kind: 'segment' | 'experiment', id: string) => string

/** Marks that turn round what stands behind them: within a sentence of ours they would turn that. */
const TURNING = /[\u202A-\u202E\u2066-\u2069]/g

/** The conditions as a sentence without its end: `Country is Germany and App version is at least 2.4`. All of them must hold. */
export const conditionsInWords = (conditions: readonly ConditionInput[], nameOf: NameOf = (_, id) => id): string =>
  (conditions.length === 0
    ? t('Everybody')
    : conditions.map((one, n) => (n === 0 ? conditionText(one, nameOf) : inside(conditionText(one, nameOf)))).join(t(', and '))
  ).replaceAll(TURNING, '')

/** Within a sentence. What begins with several capitals is a name. */
const inside = (text: string) => (/^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text)

function conditionText(condition: ConditionInput, nameOf: NameOf): string {
  const text = plainText(condition, nameOf)
  return condition.negate ? t('Not ({text})', { text: inside(text) }) : text
}

function plainText({ metric, comparator, value }: ConditionInput, nameOf: NameOf): string {
  const what = metricText(metric)
  const how = comparatorText(metric, comparator)
  switch (kindOf(metric)) {
    case 'flag':
      return flagText(metric, what, (value === '1' || value === 'true') === (comparator === 'eq'))
    case 'time':
      return `${what} ${timeText(value, comparator, how)}`
    case 'segment':
    case 'experiment':
      return t('{how} the {kind} {name}', {
        how: how.charAt(0).toUpperCase() + how.slice(1),
        kind: kindOf(metric),
        name: quoted(nameOf(metric === 'segment' ? 'segment' : 'experiment', value)),
      })
    case 'context':
      return comparator === 'eq'
        ? t('Is in an experiment {key}', { key: keyText(value) })
        : t('Is in no experiment {key}', { key: keyText(value) })
    case 'country':
      return `${what} ${how} ${comparator === 'eq' || comparator === 'ne' ? countryText(value) : quoted(value)}`
    case 'choice':
      return `${what} ${how} ${t(CHOICES[metric]?.[value] ?? value)}`
    case 'text':
    case 'property':
      return `${what} ${how} ${quoted(value)}`
    default:
      return `${what} ${how} ${value === '' ? t('empty') : value}`
  }
}

const quoted = (value: string) => (value === '' ? t('empty') : `“${value}”`)
const keyText = (key: string) => (key === '' ? t('without a context key') : t('with the context key “{key}”', { key }))

const NOT: Readonly<Record<string, string>> = {
  has_active_subscription: 'Has no paid subscription',
  renewable: 'Has no subscription that renews',
  is_paused: 'Has no paused subscription',
}

function flagText(metric: string, what: string, isTrue: boolean): string {
  if (isTrue) return what
  const entitlement = entitlementIn(metric)
  return entitlement === null ? t(NOT[metric] ?? 'not: {what}', { what }) : t('Has no access to {id}', { id: entitlement })
}

function timeText(value: string, comparator: ConditionInput['comparator'], how: string): string {
  const form = timeFormOf(value)
  if (form.is !== 'ago') return `${how} ${value === '' ? '…' : value}`
  const span = form.n === '' ? '…' : counted(Number(form.n), ...UNITS[form.unit])
  if (comparator === 'gt' || comparator === 'gte') return t('within the last {span}', { span })
  if (comparator === 'lt' || comparator === 'lte') return t('more than {span} ago', { span })
  return comparator === 'ne' ? t('not exactly {span} ago', { span }) : t('exactly {span} ago', { span })
}
