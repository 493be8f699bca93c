import { NativeSelect, TextInput } from '@mantine/core'
import type { ConditionInput } from '../../../../clients/typescript/src/index.ts'
import { Icon } from '../../parts/icon.tsx'
import { Pick } from '../../parts/pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { COMPARATOR_CODES, comparatorText } from '../automation/words.ts'
import { FieldFault, useFault } from './faults.tsx'

/** What is asked about the person, the event and the steps before. Others are typed: `property:KEY`, `entitlement:ID`, `event:FIELD`, `step:ID`. */
const METRICS = [
  'country',
  'target_platform',
  'app_version',
  'subscription_state',
  'has_active_subscription',
  'auto_renew',
  'is_paused',
  'planned_product_id',
  'purchases_count',
  'revenue_usd',
  'install_date',
  'last_seen',
  'custom_uid',
  'event:platform',
  'event:product_id',
]
const OPTIONS = METRICS.map(code => ({ code, label: plain(code) }))

/** The conditions of a branch: all of them must hold. */
export function Conditions({
  conditions,
  path,
  onChange,
}: {
  conditions: readonly ConditionInput[]
  path: string
  onChange: (conditions: ConditionInput[]) => void
}) {
  const change = (at: number, part: Partial<ConditionInput>) => onChange(conditions.map((one, n) => (n === at ? { ...one, ...part } : one)))
  return (
    <fieldset className="conditions" data-path={path}>
      <legend className="form-label">{t('Yes, if all of these hold')}</legend>
      {conditions.map((condition, n) => (
        <Condition
          // biome-ignore lint/suspicious/noArrayIndexKey: the fields hold no state of their own
          key={n}
          of={condition}
          path={`${path}[${n}]`}
          onChange={part => change(n, part)}
          onRemove={() => onChange(conditions.filter((_, other) => other !== n))}
        />
      ))}
      <FieldFault path={path} />
      <button
        type="button"
        className="chip dashed small"
        onClick={() => onChange([...conditions, { metric: 'country', comparator: 'eq', value: '', negate: false }])}
      >
        {t('Add a condition')}
      </button>
    </fieldset>
  )
}

function Condition({
  of: { metric, comparator, value },
  path,
  onChange,
  onRemove,
}: {
  of: ConditionInput
  path: string
  onChange: (part: Partial<ConditionInput>) => void
  onRemove: () => void
}) {
  const fault = useFault(path)
  return (
    <div className="condition" data-path={path}>
      <Pick
        name={t('What is asked')}
        text={plain(metric).replace(':', ': ')}
        options={OPTIONS}
        chosen={[metric]}
        free
        wide
        onPick={code => onChange({ metric: code })}
      />
      <NativeSelect
        size="xs"
        aria-label={t('How it is compared')}
        value={comparator}
        data={COMPARATOR_CODES.map(code => ({ value: code, label: comparatorText(code) }))}
        onChange={({ currentTarget }) => onChange({ comparator: currentTarget.value as ConditionInput['comparator'] })}
      />
      <TextInput
        size="xs"
        aria-label={t('Value')}
        placeholder={t('Value')}
        value={value}
        error={fault}
        maxLength={1_024}
        onChange={({ currentTarget }) => onChange({ value: currentTarget.value })}
      />
      <button type="button" className="icon-button" aria-label={t('Remove this condition')} onClick={onRemove}>
        <Icon name="close" size={14} />
      </button>
    </div>
  )
}
