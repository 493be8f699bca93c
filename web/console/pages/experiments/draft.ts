import type { ConditionInput, Experiment } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { conditionsInWords } from '../../parts/conditions/words.ts'
import { goalText, metricName } from '../../parts/growth/metrics.ts'
import { percentText } from '../../parts/growth/words.ts'
import { t } from '../../parts/t.ts'

type Body = Input<'v4CreateExperiment'>['body']

export type Draft = {
  name: string
  alias: string
  description: string
  key: string
  isSpecific: boolean
  percent: string
  metric: NonNullable<Body['primary_metric']> | ''
  direction: 'increase' | 'decrease' | ''
  goal: string
  conditions: ConditionInput[]
}

export const draftOf = (of?: Experiment): Draft => ({
  name: of?.name ?? '',
  alias: of?.alias_id ?? '',
  description: of?.description ?? '',
  key: of?.context_key ?? '',
  isSpecific: of?.is_context_specific ?? false,
  percent: String(of?.segment_percent ?? 100),
  metric: of === undefined ? 'user_to_paid' : (of.primary_metric ?? ''),
  direction: of?.goal_direction ?? '',
  goal: of?.goal_value === null || of?.goal_value === undefined ? '' : String(of.goal_value),
  conditions: [...(of?.segmentation_conditions ?? [])],
})

/** An alias as one would type it, from the name. */
export const aliasOf = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64)

/** All of it taken in is stored as no share. */
export const bodyOf = (draft: Draft): Required<Body> => {
  const percent = Number(draft.percent)
  const hasGoal = draft.metric !== '' && draft.direction !== '' && draft.goal.trim() !== ''
  return {
    name: draft.name.trim(),
    alias_id: draft.alias,
    description: draft.description.trim() === '' ? null : draft.description.trim(),
    context_key: draft.key,
    is_context_specific: draft.isSpecific,
    segment_percent: percent === 100 ? null : percent,
    primary_metric: draft.metric === '' ? null : draft.metric,
    goal_direction: hasGoal ? (draft.direction as 'increase') : null,
    goal_value: hasGoal ? Number(draft.goal) : null,
    segmentation_conditions: draft.conditions,
  }
}

/** Only what is different from what was stored when the form was opened: the service changes what it is given. */
export function changed(before: Experiment, draft: Draft): Partial<Body> {
  const was = bodyOf(draftOf(before))
  const is = bodyOf(draft)
  const names = (Object.keys(is) as (keyof Body)[]).filter(name => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
  return Object.fromEntries(names.map(name => [name, is[name]]))
}

export const isReady = ({ name, alias, percent, goal, direction, metric }: Draft): boolean =>
  name.trim() !== '' &&
  alias !== '' &&
  percent.trim() !== '' &&
  Number.isFinite(Number(percent)) &&
  (metric === '' || direction === '' || (goal.trim() !== '' && Number.isFinite(Number(goal))))

export const inWords = (of: Experiment) => ({
  name: of.name,
  alias: of.alias_id,
  description: of.description,
  key: of.context_key,
  isSpecific: of.is_context_specific ? t('only this key') : t('all keys'),
  percent: percentText(of.segment_percent ?? 100),
  metric: metricName(of.primary_metric),
  goal: goalText(of),
  conditions: conditionsInWords(of.segmentation_conditions ?? []),
})
export const FIELDS = {
  name: 'Name',
  alias: 'Own id',
  description: 'Description',
  key: 'Context key',
  isSpecific: 'One experiment at a time, over',
  percent: 'Share',
  metric: 'Primary metric',
  goal: 'Goal',
  conditions: 'Conditions',
} as const
