import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { Choice } from '../../parts/choice.tsx'
import { METRICS, measureOf } from '../../parts/growth/metrics.ts'
import { t } from '../../parts/t.ts'
import { aliasOf, type Draft } from './draft.ts'

export type Fields = {
  draft: Draft
  isDraft: boolean
  isNew: boolean
  change: (part: Partial<Draft>) => void
  faultOf: (field: string) => string | undefined
}

/** How it is called, by people and by the caller's own code. */
export function Naming({ draft, isDraft, isNew, change, faultOf }: Fields) {
  return (
    <>
      <div className="growth-fields">
        <TextInput
          label={t('Name')}
          required
          data-autofocus
          maxLength={256}
          value={draft.name}
          error={faultOf('name')}
          onChange={({ currentTarget: { value: name } }) =>
            // The alias follows the name until somebody types one.
            change({ name, ...(isNew && draft.alias === aliasOf(draft.name) && { alias: aliasOf(name) }) })
          }
        />
        <TextInput
          label={t('Own id')}
          required
          maxLength={64}
          placeholder="spring-sale"
          spellCheck={false}
          disabled={!isDraft}
          value={draft.alias}
          error={faultOf('alias_id')}
          onChange={({ currentTarget }) => change({ alias: currentTarget.value.trim() })}
        />
      </div>
      <Textarea
        label={t('What it shall show')}
        rows={2}
        maxLength={1_024}
        value={draft.description}
        error={faultOf('description')}
        onChange={({ currentTarget }) => change({ description: currentTarget.value })}
      />
    </>
  )
}

/** Whom it reaches: the requests of a key, beside which experiments, and what share of them. */
export function Reach({ draft, isDraft, change, faultOf }: Fields) {
  return (
    <>
      <div className="growth-fields">
        <TextInput
          label={t('Context key')}
          description={t('With which the app asks; empty: without a key')}
          placeholder="main_paywall"
          maxLength={256}
          disabled={!isDraft}
          value={draft.key}
          error={faultOf('context_key')}
          onChange={({ currentTarget }) => change({ key: currentTarget.value.trim() })}
        />
        <TextInput
          label={t('Share in percent')}
          description={t('Of the people below, how many are taken in')}
          type="number"
          min={0}
          max={100}
          step="any"
          required
          value={draft.percent}
          error={faultOf('segment_percent')}
          onChange={({ currentTarget }) => change({ percent: currentTarget.value })}
        />
      </div>
      {isDraft && (
        <div>
          <p className="form-label">{t('People who are in another experiment')}</p>
          <Choice
            name={t('People who are in another experiment')}
            value={draft.isSpecific ? 'specific' : 'exclusive'}
            options={[
              ['exclusive', 'Leave them out'],
              ['specific', 'Take them in, if that has another key'],
            ]}
            onChange={value => change({ isSpecific: value === 'specific' })}
          />
        </div>
      )}
    </>
  )
}

const UNITS = { percent: 'Value in percent', count: 'Value', usd: 'Value in USD' } as const

/** What decides, and what is hoped for. A goal changes nothing about who is taken in. */
export function Goal({ draft, change, faultOf }: Fields) {
  return (
    <div className="growth-fields">
      <NativeSelect
        label={t('Primary metric')}
        data={[
          { value: '', label: t('none: nothing is compared') },
          ...Object.entries(METRICS).map(([value, { says }]) => ({ value, label: t(says) })),
        ]}
        value={draft.metric}
        error={faultOf('primary_metric')}
        onChange={({ currentTarget }) => change({ metric: currentTarget.value as Draft['metric'] })}
      />
      {draft.metric !== '' && (
        <NativeSelect
          label={t('Goal')}
          data={[
            { value: '', label: t('none') },
            { value: 'increase', label: t('at least') },
            { value: 'decrease', label: t('at most') },
          ]}
          value={draft.direction}
          error={faultOf('goal_direction')}
          onChange={({ currentTarget }) => change({ direction: currentTarget.value as Draft['direction'] })}
        />
      )}
      {draft.metric !== '' && draft.direction !== '' && (
        <TextInput
          label={t(UNITS[measureOf(draft.metric)])}
          inputMode="decimal"
          required
          value={draft.goal}
          error={faultOf('goal_value')}
          onChange={({ currentTarget }) => change({ goal: currentTarget.value.replace(',', '.') })}
        />
      )}
    </div>
  )
}
