import { NativeSelect, TextInput } from '@mantine/core'
import { t } from '../t.ts'
import { agoValue, type TimeForm, timeFormOf, UNITS, type Unit } from './span.ts'

const FORMS: readonly { value: TimeForm['is']; label: string }[] = [
  { value: 'ago', label: 'ago' },
  { value: 'day', label: 'a day (UTC)' },
  { value: 'exact', label: 'a moment' },
]
const FIRST: Readonly<Record<TimeForm['is'], string>> = { ago: '-P30D', day: '', exact: 'T00:00:00Z' }

/** A time: so long before now, a day, or a moment. Its form is that of the value, so the field holds no state. */
export function TimeValue({ value, isWrong, onChange }: { value: string; isWrong: boolean; onChange: (value: string) => void }) {
  const form = timeFormOf(value)
  return (
    <>
      <Field form={form} isWrong={isWrong} onChange={onChange} />
      <NativeSelect
        size="xs"
        aria-label={t('Kind of time')}
        value={form.is}
        data={FORMS.map(one => ({ ...one, label: t(one.label) }))}
        onChange={({ currentTarget }) => onChange(FIRST[currentTarget.value as TimeForm['is']])}
      />
    </>
  )
}

function Field({ form, isWrong, onChange }: { form: TimeForm; isWrong: boolean; onChange: (value: string) => void }) {
  if (form.is === 'ago')
    return (
      <>
        <TextInput
          className="short"
          size="xs"
          inputMode="numeric"
          aria-label={t('How many')}
          value={form.n}
          error={isWrong}
          maxLength={6}
          onChange={({ currentTarget }) => onChange(agoValue(currentTarget.value.replaceAll(/\D/g, ''), form.unit))}
        />
        <NativeSelect
          size="xs"
          aria-label={t('Unit')}
          value={form.unit}
          data={Object.entries(UNITS).map(([code, [, many]]) => ({ value: code, label: t(many, { n: '' }).trim() }))}
          onChange={({ currentTarget }) => onChange(agoValue(form.n, currentTarget.value as Unit))}
        />
      </>
    )
  if (form.is === 'day')
    return (
      <TextInput
        type="date"
        size="xs"
        aria-label={t('Day')}
        value={form.day}
        error={isWrong}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  return (
    <TextInput
      size="xs"
      aria-label={t('Moment')}
      placeholder="2026-03-01T09:00:00Z"
      value={form.text === FIRST.exact ? '' : form.text}
      error={isWrong}
      maxLength={64}
      onChange={({ currentTarget }) => onChange(currentTarget.value || FIRST.exact)}
    />
  )
}
