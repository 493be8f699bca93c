import { Button, Modal, SegmentedControl, Select, useMantineColorScheme } from '@mantine/core'
import { useState } from 'react'
import { type Preferences, type Theme, usePreferences, useSetPreferences } from '../data/session.ts'
import { Act } from '../parts/act.tsx'
import { Fault } from '../parts/fault.tsx'
import { t } from '../parts/t.ts'
import { say } from '../parts/undo.tsx'

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]

/** What belongs to the operator on every page and in every project. */
export default function PreferencesForm({ onClose }: { onClose: () => void }) {
  const { zone, theme, density, first_weekday } = usePreferences()
  const [form, setForm] = useState<Preferences>({ zone, theme, density, first_weekday })
  const { mutateAsync, isPending, error } = useSetPreferences()
  const { setColorScheme } = useMantineColorScheme()
  const change = (part: Preferences) => setForm(before => ({ ...before, ...part }))
  const save = async () => {
    if (isPending) return
    await mutateAsync(form)
    if (form.theme) setColorScheme(form.theme)
    say(t('Preferences are saved'))
    onClose()
  }
  return (
    <Modal opened onClose={onClose} title={t('Preferences')} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      <div className="form">
        <Select
          label={t('Time zone of dates and times')}
          searchable
          data={ZONES}
          value={form.zone ?? zone}
          onChange={value => value && change({ zone: value })}
          allowDeselect={false}
        />
        <Choice
          label={t('Theme')}
          value={form.theme ?? theme}
          choices={[
            ['auto', t('As the system')],
            ['light', t('Light')],
            ['dark', t('Dark')],
          ]}
          onChange={value => change({ theme: value as Theme })}
        />
        <Choice
          label={t('Rows of tables')}
          value={form.density ?? density}
          choices={[
            ['normal', t('Normal')],
            ['compact', t('Compact')],
          ]}
          onChange={value => change({ density: value as 'normal' | 'compact' })}
        />
        <Choice
          label={t('Weeks begin on')}
          value={String(form.first_weekday ?? first_weekday)}
          choices={[
            ['1', t('Monday')],
            ['0', t('Sunday')],
            ['6', t('Saturday')],
          ]}
          onChange={value => change({ first_weekday: Number(value) })}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <Button variant="default" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Act denied={undefined} loading={isPending} onClick={() => void save().catch(() => {})}>
            {t('Save')}
          </Act>
        </div>
      </div>
    </Modal>
  )
}

const Choice = ({
  label,
  value,
  choices,
  onChange,
}: {
  label: string
  value: string
  choices: [string, string][]
  onChange: (value: string) => void
}) => (
  <div>
    <div className="form-label">{label}</div>
    <SegmentedControl
      fullWidth
      aria-label={label}
      value={value}
      onChange={onChange}
      data={choices.map(([code, text]) => ({ value: code, label: text }))}
    />
  </div>
)
