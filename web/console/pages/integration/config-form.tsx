import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Integration, IntegrationConfig } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useLook } from '../../parts/meanwhile.tsx'
import { Send } from '../../parts/send.tsx'
import { REVEAL } from '../../parts/shown-once.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'
import { EventChoice } from './event-choice.tsx'
import { type Form, formOf, type Provider, settingsOf } from './fields.ts'
import { Mapping } from './mapping.tsx'
import { SettingField } from './setting-field.tsx'

type Props = { integration: Integration; config: IntegrationConfig; provider: Provider; denied: string | undefined }

/** The whole configuration is sent; a secret only when another one is typed. */
export function ConfigForm({ integration, config, provider, denied }: Props) {
  const { settings: known, takes } = provider
  const [before, setBefore] = useState(config)
  const [form, setForm] = useState<Form>(() => formOf(config, known))
  const [secrets, setSecrets] = useState<Record<string, string | null>>({})
  const [events, setEvents] = useState(config.events)
  const [mapping, setMapping] = useState(() => Object.entries(config.event_mapping))
  const [revenue, setRevenue] = useState(config.revenue)
  const [isNewer, setNewer] = useState(false)
  const [failed, setFailed] = useState<unknown>()
  const [made, setMade] = useState<string>()
  const path = { integration_id: integration.id }
  const look = useLook('v4GetIntegrationConfig', { path })
  const { send, isPending, error } = useWrite('v4UpdateIntegrationConfig', {
    changes: ['v4GetIntegrationConfig', 'v4ListIntegrations'],
    heard: headers => setMade(headers.get(REVEAL) ?? undefined),
  })
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field || detail.field?.startsWith(`${field}[`))?.message
  const body = {
    settings: settingsOf(form, known, secrets),
    events,
    event_mapping: Object.fromEntries(mapping.filter(([event]) => event.trim() !== '').map(([event, name]) => [event.trim(), name])),
    revenue,
  }
  const save = useOne(async () => {
    setFailed(undefined)
    const now = await look()
    if (shownOf(now) !== shownOf(before)) {
      setBefore(now)
      return setNewer(true)
    }
    const saved = await send({ path, body })
    if (saved) setBefore(saved)
    setSecrets({})
    setNewer(false)
    say(t('The settings are saved'))
  })
  return (
    <form
      className="form"
      onSubmit={event => {
        event.preventDefault()
        if (denied === undefined) void save().catch(setFailed)
      }}
    >
      {known.map(setting => (
        <SettingField
          key={setting.name}
          setting={setting}
          value={form[setting.name] ?? ''}
          typed={secrets[setting.name] ?? ''}
          isStored={before.settings[`has_${setting.name}`] === true}
          fault={faultOf(`settings.${setting.name}`)}
          onChange={value => setForm(last => ({ ...last, [setting.name]: value }))}
          onType={value => setSecrets(last => ({ ...last, [setting.name]: value }))}
        />
      ))}
      {takes.includes('events') && (
        <>
          <EventChoice events={events} onChange={setEvents} />
          <Mapping rows={mapping} onChange={setMapping} />
          <div>
            <p className="form-label">{t('Revenue of an event')}</p>
            <Choice
              name={t('Revenue of an event')}
              value={revenue}
              options={[
                ['price', 'Price'],
                ['proceeds', 'Proceeds'],
              ]}
              onChange={setRevenue}
            />
          </div>
        </>
      )}
      {isNewer && (
        <div className="trouble warn" role="alert">
          <Icon name="swap" size={16} />
          <div>
            <strong>{t('Somebody changed these settings in the meantime')}</strong>
            <p>{t('Save again to replace them by yours, or take theirs.')}</p>
          </div>
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              setForm(formOf(before, known))
              setEvents(before.events)
              setMapping(Object.entries(before.event_mapping))
              setRevenue(before.revenue)
              setNewer(false)
            }}
          >
            {t('Take theirs')}
          </Button>
        </div>
      )}
      {failed !== undefined && <Fault error={failed} />}
      {made && (
        <div className="trouble warn" role="status">
          <Icon name="key" size={16} />
          <div>
            <strong>{t('A signing secret was made')}</strong>
            <p>{t('It is shown once, to you alone, within ten minutes.')}</p>
          </div>
          <Button component="a" size="xs" href={new URL(made).pathname} target="_blank" rel="noopener">
            {t('Look at it')}
          </Button>
        </div>
      )}
      <div className="form-actions">
        <Send
          size="xs"
          loading={isPending}
          title={denied}
          aria-disabled={denied !== undefined}
          data-disabled={denied !== undefined || undefined}
        >
          {isNewer ? t('Save mine') : t('Save')}
        </Send>
      </div>
    </form>
  )
}

/** What one sees of it: another secret is no other version. */
const shownOf = ({ settings, events, event_mapping, revenue }: IntegrationConfig) =>
  JSON.stringify([settings, events, event_mapping, revenue], (name, value) => (name.startsWith('has_') ? undefined : value))
