import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { t } from '../../parts/t.ts'
import { type Draft, stepsIn, withData } from './draft.ts'
import { useFault } from './faults.tsx'
import { EventsField, NamedField } from './pick-field.tsx'
import { Text } from './step-fields.tsx'
import { AllSteps, Steps } from './steps.tsx'

const STATUSES = [
  ['active', 'Active'],
  ['paused', 'Paused'],
  ['inactive', 'Inactive'],
] as const
const PER = { hour: 'hour', day: 'day', week: 'week', month: 'month', lifetime: 'lifetime' } as const
type Per = keyof typeof PER

type Props = { draft: Draft; before: Draft['status'] | undefined; onChange: (draft: Draft) => void }

/** An automation as a form: what it is called, what starts it for whom, and what it does. */
export function Form({ draft, before, onChange }: Props) {
  const { data } = draft
  const change = (part: Partial<Draft['data']>) => onChange(withData(draft, part))
  return (
    <div className="grid edit-grid start">
      <div className="grid">
        <Card title={t('What it is')}>
          <div className="form">
            <Text label={t('Name')} value={draft.name} path="name" onChange={name => onChange({ ...draft, name })} />
            <Text label={t('Description')} value={draft.caption} path="caption" onChange={caption => onChange({ ...draft, caption })} />
            <div data-path="status">
              <p className="form-label">{t('Status')}</p>
              <Choice name={t('Status')} value={draft.status} options={STATUSES} onChange={status => onChange({ ...draft, status })} />
              {draft.status === 'inactive' && before !== undefined && before !== 'inactive' && (
                <p className="field-fault">{t('Set inactive, it cancels its runs under way. Paused, it holds them.')}</p>
              )}
            </div>
          </div>
        </Card>
        <Card title={t('What starts it, and for whom')}>
          <div className="form">
            <EventsField
              label={t('Events that start it')}
              chosen={(data.initiators ?? []).map(({ uid }) => uid)}
              path="data.initiators"
              onChange={names => change({ initiators: names.map(uid => ({ uid, type: 'event' })) })}
            />
            <div>
              <NativeSelect
                size="xs"
                label={t('Platform of the event')}
                value={data.platform ?? ''}
                data-path="data.platform"
                data={[
                  { value: '', label: t('Any, or none') },
                  { value: 'iOS', label: 'iOS' },
                  { value: 'Android', label: 'Android' },
                ]}
                onChange={({ currentTarget: { value } }) => change({ platform: value === '' ? null : (value as 'iOS' | 'Android') })}
              />
            </div>
            <NamedField
              kind="segment"
              label={t('Segment of the person')}
              value={data.segments}
              path="data.segments"
              none={t('Everybody')}
              onPick={id => change({ segments: id || null })}
            />
            <Frequency draft={draft} onChange={change} />
            <Checkbox
              size="xs"
              label={t('Several runs of one person at the same time')}
              checked={data.reentry ?? true}
              onChange={({ currentTarget }) => change({ reentry: currentTarget.checked })}
            />
          </div>
        </Card>
      </div>
      <Card title={t('What it does')}>
        <AllSteps value={stepsIn(draft)}>
          <Steps
            steps={stepsIn(draft)}
            path="data.steps"
            empty={t('Nothing yet. The first step comes right after the event.')}
            onChange={steps => change({ steps })}
          />
        </AllSteps>
      </Card>
    </div>
  )
}

function Frequency({ draft: { data }, onChange }: { draft: Draft; onChange: (part: Partial<Draft['data']>) => void }) {
  const fault = useFault('data.frequency')
  const { frequency } = data
  return (
    <div>
      <Checkbox
        size="xs"
        label={t('Not more often for one person than')}
        checked={frequency !== undefined}
        onChange={({ currentTarget }) => onChange({ frequency: currentTarget.checked ? { max_runs_per_user: 1, per: 'week' } : undefined })}
      />
      {frequency && (
        <div className="duration frequency" data-path="data.frequency">
          <TextInput
            size="xs"
            type="number"
            min={1}
            max={1000}
            aria-label={t('Runs')}
            value={String(frequency.max_runs_per_user)}
            error={fault}
            onChange={({ currentTarget: { value } }) =>
              onChange({ frequency: { ...frequency, max_runs_per_user: Math.max(1, Math.floor(Number(value)) || 1) } })
            }
          />
          <NativeSelect
            size="xs"
            aria-label={t('In')}
            value={frequency.per}
            data={Object.entries(PER).map(([value, name]) => ({
              value,
              label: name === 'lifetime' ? t('ever') : t('a {name}', { name: t(name) }),
            }))}
            onChange={({ currentTarget: { value } }) => onChange({ frequency: { ...frequency, per: value as Per } })}
          />
        </div>
      )}
    </div>
  )
}
