import './conditions.css'
import { NativeSelect } from '@mantine/core'
import { useRef } from 'react'
import type { ConditionInput } from '../../../../clients/typescript/src/index.ts'
import { Icon } from '../icon.tsx'
import { t } from '../t.ts'
import { MetricPick } from './metric-pick.tsx'
import { comparatorsOf, comparatorText, FIRST_CONDITION, withMetric } from './metrics.ts'
import { Value } from './value.tsx'

const MOST = 50

type Props = {
  value: readonly ConditionInput[]
  onChange: (conditions: ConditionInput[]) => void
  /** What the service said about the fields: `details` of its error. */
  errors?: readonly { field?: string; message: string }[] | undefined
  /** The field of the body that holds the conditions. */
  field?: string
  legend?: string
  /** Whether they may name segments and experiments, as those of configurations and experiments do; those of a segment may not. */
  references?: boolean
  disabled?: boolean
}

/** Edits conditions, all of which must hold. None at all is everybody. */
export function Conditions({
  value: conditions,
  onChange,
  errors = [],
  field = 'conditions',
  legend = t('All of these hold'),
  references = false,
  disabled = false,
}: Props) {
  const set = useRef<HTMLFieldSetElement>(null)
  const focusOn = (selector: string) => requestAnimationFrame(() => set.current?.querySelector<HTMLElement>(selector)?.focus())
  const faultsOf = (path: string) =>
    errors.filter(one => one.field === path || one.field?.startsWith(`${path}.`)).map(({ message }) => message)
  const add = () => {
    onChange([...conditions, FIRST_CONDITION])
    focusOn(`.rule:nth-of-type(${conditions.length + 1}) button`)
  }
  const remove = (at: number) => {
    onChange(conditions.filter((_, n) => n !== at))
    focusOn('[data-add]')
  }
  const whole = errors.filter(one => one.field === field).map(({ message }) => message)
  return (
    <fieldset className="rules" ref={set} disabled={disabled} data-path={field}>
      <legend className="form-label">{legend}</legend>
      {conditions.length === 0 && <p className="rule-none soft">{t('No condition: everybody.')}</p>}
      {conditions.map((condition, n) => (
        <Rule
          // biome-ignore lint/suspicious/noArrayIndexKey: the fields hold no state of their own
          key={n}
          at={n}
          of={condition}
          faults={faultsOf(`${field}[${n}]`)}
          references={references}
          onChange={changed => onChange(conditions.map((one, other) => (other === n ? changed : one)))}
          onRemove={() => remove(n)}
        />
      ))}
      {whole.length > 0 && <p className="rule-fault">{whole.join('; ')}</p>}
      {conditions.length < MOST && (
        <button type="button" className="chip dashed small" data-add onClick={add}>
          {t('Add a condition')}
        </button>
      )}
    </fieldset>
  )
}

function Rule({
  at,
  of: condition,
  faults,
  references,
  onChange,
  onRemove,
}: {
  at: number
  of: ConditionInput
  faults: readonly string[]
  references: boolean
  onChange: (changed: ConditionInput) => void
  onRemove: () => void
}) {
  const { metric, comparator, negate = false } = condition
  const allowed = comparatorsOf(metric)
  const shown = allowed.includes(comparator) ? allowed : [...allowed, comparator]
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in columns everywhere
    <div className="rule" role="group" aria-label={t('Condition {n}', { n: at + 1 })}>
      <span className="rule-and">{at > 0 ? t('and') : ''}</span>
      <div className="rule-metric">
        <MetricPick metric={metric} references={references} onPick={picked => onChange(withMetric(condition, picked))} />
      </div>
      <NativeSelect
        className="rule-compare"
        size="xs"
        aria-label={t('How it is compared')}
        value={comparator}
        data={shown.map(code => ({ value: code, label: comparatorText(metric, code) }))}
        onChange={({ currentTarget }) => onChange({ ...condition, comparator: currentTarget.value as ConditionInput['comparator'] })}
      />
      <div className="rule-value">
        <Value of={condition} isWrong={faults.length > 0} onChange={value => onChange({ ...condition, value })} />
      </div>
      <div className="rule-acts">
        <button
          type="button"
          className={negate ? 'chip small on' : 'chip small'}
          aria-pressed={negate}
          title={t('The opposite of this condition')}
          onClick={() => onChange({ ...condition, negate: !negate })}
        >
          {t('not')}
        </button>
        <button type="button" className="icon-button" aria-label={t('Remove condition {n}', { n: at + 1 })} onClick={onRemove}>
          <Icon name="close" size={14} />
        </button>
      </div>
      {faults.length > 0 && (
        <p className="rule-fault" role="alert">
          {faults.join('; ')}
        </p>
      )}
    </div>
  )
}
