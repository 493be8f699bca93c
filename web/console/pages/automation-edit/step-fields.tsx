import { Checkbox, TextInput } from '@mantine/core'
import type { AutomationStep } from '../../../../clients/typescript/src/index.ts'
import { t } from '../../parts/t.ts'
import { Conditions } from './conditions.tsx'
import { DurationField } from './duration-field.tsx'
import { FieldFault, useFault } from './faults.tsx'
import { EventsField, NamedField } from './pick-field.tsx'

type Change = (part: object) => void

/** The fields of a step, by its type; the lists in it are not among them. */
export function StepFields({ step, path, onChange }: { step: AutomationStep; path: string; onChange: Change }) {
  switch (step.type) {
    case 'delay':
      return (
        <DurationField
          label={t('How long')}
          value={step.duration}
          path={`${path}.duration`}
          onChange={duration => onChange({ duration })}
        />
      )
    case 'wait_until':
      return (
        <>
          <Text
            label={t('Time of day')}
            value={step.time}
            path={`${path}.time`}
            onChange={time => onChange({ time })}
            placeholder="09:00"
          />
          <Text
            label={t('Time zone')}
            value={step.timezone}
            path={`${path}.timezone`}
            onChange={timezone => onChange({ timezone })}
            placeholder="Europe/Berlin"
          />
        </>
      )
    case 'wait_for_event':
      return (
        <>
          <EventsField
            label={t('Any of these events')}
            chosen={[step.event].flat()}
            path={`${path}.event`}
            onChange={names => onChange({ event: names.length === 1 ? names[0] : names })}
          />
          <DurationField label={t('At most')} value={step.timeout} path={`${path}.timeout`} onChange={timeout => onChange({ timeout })} />
        </>
      )
    case 'branch':
      return <Conditions conditions={step.conditions} path={`${path}.conditions`} onChange={conditions => onChange({ conditions })} />
    case 'webhook':
      return (
        <NamedField
          kind="integration"
          label={t('Webhook')}
          value={step.integration_id}
          path={`${path}.integration_id`}
          onPick={integration_id => onChange({ integration_id })}
        />
      )
    case 'email':
      return (
        <>
          <Text
            label={t('To')}
            description={t('Empty: the e-mail address of the person')}
            value={step.to ?? ''}
            path={`${path}.to`}
            onChange={to => onChange({ to: to || undefined })}
          />
          <Text label={t('Subject')} value={step.subject} path={`${path}.subject`} onChange={subject => onChange({ subject })} />
          <Long label={t('Text')} value={step.text} path={`${path}.text`} onChange={text => onChange({ text })} />
        </>
      )
    case 'push':
      return <NamedField kind="push" label={t('Push')} value={step.push} path={`${path}.push`} onPick={push => onChange({ push })} />
    case 'screen':
      return (
        <NamedField kind="screen" label={t('Screen')} value={step.screen} path={`${path}.screen`} onPick={screen => onChange({ screen })} />
      )
    case 'grant_entitlement':
      return (
        <>
          <NamedField
            kind="entitlement"
            label={t('Access to')}
            value={step.entitlement_id}
            path={`${path}.entitlement_id`}
            onPick={entitlement_id => onChange({ entitlement_id })}
          />
          {step.duration !== null && (
            <DurationField label={t('For')} value={step.duration} path={`${path}.duration`} onChange={duration => onChange({ duration })} />
          )}
          <Checkbox
            size="xs"
            label={t('Without an end')}
            checked={step.duration === null}
            onChange={({ currentTarget }) => onChange({ duration: currentTarget.checked ? null : 'P7D' })}
          />
        </>
      )
    case 'set_property':
      return (
        <>
          <Text label={t('Property')} value={step.key} path={`${path}.key`} onChange={key => onChange({ key })} />
          <Text label={t('Value')} value={step.value} path={`${path}.value`} onChange={value => onChange({ value })} />
        </>
      )
    default:
      return null
  }
}

type FieldProps = {
  label: string
  value: string
  path: string
  onChange: (text: string) => void
  placeholder?: string
  description?: string
}

export function Text({ label, value, path, onChange, placeholder, description }: FieldProps) {
  const fault = useFault(path)
  return (
    <TextInput
      size="xs"
      label={label}
      value={value}
      error={fault}
      data-path={path}
      description={description}
      placeholder={placeholder}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}

/** A longer text. The field of the library would bring what measures its lines. */
function Long({ label, value, path, onChange }: FieldProps) {
  const fault = useFault(path)
  return (
    <label className="long-text">
      <span className="form-label">{label}</span>
      <textarea
        rows={4}
        value={value}
        aria-invalid={fault !== undefined}
        data-path={path}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <FieldFault path={path} />
    </label>
  )
}
