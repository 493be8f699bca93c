import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useRead } from '../../data/read.ts'
import { useWrite } from '../../data/write.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Pick } from '../../parts/pick.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'

type Platform = 'iOS' | 'Android' | 'Stripe'

/** A new integration is paused and without settings: its page asks for them next. */
export default function NewIntegration({ onClose }: { onClose: () => void }) {
  const meta = useRead('v4GetIntegrationsMeta', {})
  const go = useGo()
  const [title, setTitle] = useState('')
  const [slug, setSlug] = useState('webhooks')
  const [platform, setPlatform] = useState<Platform>('iOS')
  const { send, isPending, error } = useWrite('v4CreateIntegration', { changes: ['v4ListIntegrations'] })
  // With its fields, so that the first one takes the focus.
  return (
    <Modal
      opened={meta.data !== undefined || meta.isError}
      onClose={onClose}
      title={t('New integration')}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      <DataState of={meta} rows={3}>
        {({ data }) => {
          const providers = data.flatMap(({ title: group, items }) => items.map(item => ({ ...item, group })))
          const chosen = providers.find(one => one.slug === slug)
          const stores = chosen?.allowedStores ?? []
          const of = stores.includes(platform) ? platform : stores[0]!
          return (
            <form
              className="form"
              onSubmit={event => {
                event.preventDefault()
                const body = { title: title.trim(), integration: slug as 'webhooks', target_platform: of }
                void send({ body }).then(
                  made => made && go({ to: `/integrations/${made.id}`, search: { tab: 'settings' } }),
                  () => {},
                )
              }}
            >
              <div>
                <p className="form-label">{t('Provider')}</p>
                <Pick
                  name={t('Provider')}
                  text={chosen?.title ?? slug}
                  icon="plug"
                  wide
                  options={providers.map(one => ({ code: one.slug, label: one.title, group: one.group }))}
                  chosen={[slug]}
                  onPick={setSlug}
                />
                {chosen && <p className="soft integration-takes">{t(takesText(chosen.takes))}</p>}
              </div>
              <TextInput
                label={t('Title')}
                description={t('Your name for it')}
                value={title}
                maxLength={255}
                data-autofocus
                error={error?.details.find(({ field }) => field === 'title')?.message}
                onChange={({ currentTarget: { value } }) => setTitle(value)}
              />
              <div>
                <p className="form-label">{t('Platform of its events')}</p>
                <Choice
                  name={t('Platform of its events')}
                  value={of}
                  options={stores.map(store => [store, store] as const)}
                  onChange={setPlatform}
                />
                <p className="soft integration-takes">{t('Events of no platform go to all. Stripe also takes Paddle.')}</p>
              </div>
              {error && <Fault error={error} />}
              <div className="form-actions">
                <Button variant="default" size="xs" onClick={onClose}>
                  {t('Cancel')}
                </Button>
                <Send size="xs" loading={isPending} disabled={title.trim() === ''}>
                  {t('Create it')}
                </Send>
              </div>
            </form>
          )
        }}
      </DataState>
    </Modal>
  )
}

function takesText(takes: readonly string[]): string {
  if (takes.length === 0) return 'It is read, and gets nothing of the service.'
  const parts = { events: 'events as they happen', reports: 'files of reports', automations: 'steps of automations' }
  return `It takes ${takes.map(what => parts[what as keyof typeof parts] ?? what).join(', ')}.`
}
