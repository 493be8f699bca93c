import { NativeSelect, TextInput } from '@mantine/core'
import type { ConditionInput } from '../../../../clients/typescript/src/index.ts'
import { Pick } from '../pick.tsx'
import { t } from '../t.ts'
import { countries, countryText } from './countries.ts'
import { CHOICES, kindOf, type MetricKind } from './metrics.ts'
import { NamedPick } from './named-pick.tsx'
import { TimeValue } from './time-value.tsx'

export type ValueProps = { of: ConditionInput; isWrong: boolean; onChange: (value: string) => void }

/** The value of a condition, by the kind of its metric. */
export function Value({ of: condition, isWrong, onChange }: ValueProps) {
  const { metric, comparator, value } = condition
  const kind = kindOf(metric)
  switch (kind) {
    case 'flag':
      return <Select value={value === 'true' ? '1' : value === 'false' ? '0' : value} data={{ 1: 'yes', 0: 'no' }} onChange={onChange} />
    case 'choice':
      return <Select value={value} data={CHOICES[metric] ?? {}} onChange={onChange} />
    case 'time':
      return <TimeValue value={value} isWrong={isWrong} onChange={onChange} />
    case 'country':
      return comparator === 'eq' || comparator === 'ne' ? (
        <Pick
          name={t('Country')}
          text={value === '' ? t('Choose') : countryText(value)}
          options={countries()}
          chosen={[value.toUpperCase()]}
          onPick={onChange}
        />
      ) : (
        <Typed kind={kind} value={value} isWrong={isWrong} onChange={onChange} />
      )
    case 'segment':
    case 'experiment':
      return <NamedPick kind={kind} id={value} onPick={onChange} />
    default:
      return <Typed kind={kind} value={value} isWrong={isWrong} onChange={onChange} />
  }
}

function Select({ value, data, onChange }: { value: string; data: Readonly<Record<string, string>>; onChange: (value: string) => void }) {
  const known = Object.entries(data).map(([code, label]) => ({ value: code, label: t(label) }))
  return (
    <NativeSelect
      size="xs"
      aria-label={t('Value')}
      value={value}
      data={Object.hasOwn(data, value) ? known : [...known, { value, label: value === '' ? t('Choose') : value }]}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}

const HINTS: Partial<Record<MetricKind, string>> = {
  count: '3',
  money: '9.99',
  version: '2.4.0',
  context: 'none',
  country: 'part of a code',
}

const Typed = ({
  kind,
  value,
  isWrong,
  onChange,
}: {
  kind: MetricKind
  value: string
  isWrong: boolean
  onChange: (value: string) => void
}) => (
  <TextInput
    size="xs"
    aria-label={t('Value')}
    placeholder={t(HINTS[kind] ?? 'Value')}
    inputMode={kind === 'count' ? 'numeric' : kind === 'money' ? 'decimal' : undefined}
    value={value}
    error={isWrong}
    maxLength={1_024}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
  />
)
