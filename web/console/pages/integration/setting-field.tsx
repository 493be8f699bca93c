import { Checkbox, Textarea, TextInput } from '@mantine/core'
import { t } from '../../parts/t.ts'
import { labelOf, type Setting } from './fields.ts'

type Props = {
  setting: Setting
  value: string | boolean
  /** Of a secret. */
  typed: string
  isStored: boolean
  fault: string | undefined
  onChange: (value: string | boolean) => void
  onType: (value: string) => void
}

/** A setting in a field of its type. A secret is never shown: one types another to replace it. */
export function SettingField({ setting, value, typed, isStored, fault, onChange, onType }: Props) {
  const { name, type, required, choice, secret } = setting
  const label = choice ? t('{label} (one of these is needed)', { label: labelOf(setting) }) : labelOf(setting)
  const common = { label, error: fault, name, required: false, withAsterisk: required && choice === null, spellCheck: false } as const
  if (secret) {
    // What signs is replaced in its own place, with the password.
    if (type === 'signing_secret') return null
    const more = {
      ...common,
      description: isStored ? t('Stored, and never shown. Type another one to replace it.') : t('Not stored yet'),
      autoComplete: 'off',
      value: typed,
    }
    return type === 'long' ? (
      <Textarea {...more} rows={3} classNames={{ input: 'code-text' }} onChange={({ currentTarget }) => onType(currentTarget.value)} />
    ) : (
      <TextInput {...more} type="password" autoComplete="new-password" onChange={({ currentTarget }) => onType(currentTarget.value)} />
    )
  }
  if (type === 'boolean')
    return <Checkbox label={label} checked={value === true} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
  const text = { ...common, value: String(value), placeholder: setting.default ?? undefined }
  if (type === 'emails')
    return (
      <Textarea
        {...text}
        description={t('One address on each line')}
        rows={3}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  return (
    <TextInput
      {...text}
      inputMode={type === 'port' ? 'numeric' : type === 'url' ? 'url' : undefined}
      maxLength={2_048}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}
