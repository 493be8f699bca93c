import { NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { t } from '../../parts/t.ts'
import { durationOf, durationText, SIMPLE_UNITS, type SimpleUnit, simpleDuration } from '../automation/duration.ts'
import { FieldFault, useFault } from './faults.tsx'

/** How long: a number and a unit, or an ISO 8601 duration where that says more. */
export function DurationField({
  label,
  value,
  path,
  onChange,
}: {
  label: string
  value: string
  path: string
  onChange: (iso: string) => void
}) {
  const fault = useFault(path)
  const [asText, setAsText] = useState(simpleDuration(value) === undefined)
  const simple = simpleDuration(value)
  if (asText || simple === undefined)
    return (
      <TextInput
        size="xs"
        label={label}
        description={t('ISO 8601, such as P1DT12H: {text}', { text: durationText(value) })}
        value={value}
        error={fault}
        data-path={path}
        maxLength={64}
        onChange={({ currentTarget }) => onChange(currentTarget.value.trim().toUpperCase())}
      />
    )
  return (
    <div>
      <div className="duration">
        <TextInput
          size="xs"
          type="number"
          min={1}
          label={label}
          value={String(simple.n)}
          error={fault !== undefined}
          data-path={path}
          onChange={({ currentTarget: { value: typed } }) => onChange(durationOf(Math.max(1, Math.floor(Number(typed)) || 1), simple.unit))}
        />
        <NativeSelect
          size="xs"
          aria-label={t('Unit')}
          value={simple.unit}
          data={[...SIMPLE_UNITS.map(([code, text]) => ({ value: code, label: text })), { value: 'iso', label: t('ISO 8601') }]}
          onChange={({ currentTarget: { value: unit } }) =>
            unit === 'iso' ? setAsText(true) : onChange(durationOf(simple.n, unit as SimpleUnit))
          }
        />
      </div>
      <FieldFault path={path} />
    </div>
  )
}
