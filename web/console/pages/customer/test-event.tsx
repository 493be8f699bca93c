import { TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { useNow } from '../../data/use-now.ts'
import { useWrite } from '../../data/write.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

const CHANGES = { changes: ['v4ListCustomerTimeline', 'v4GetCustomer'] } as const

/** Sends an event of the customer, in the sandbox alone: automations start and integrations get it as they would for a true one. */
export function TestEvent({ id, onClose }: { id: string; onClose: () => void }) {
  const place = usePlace()
  const denied = useDenied('editor', place?.project)
  const reason = place?.environment === 'sandbox' ? denied : t('Test events are sent in the sandbox alone.')
  return (
    <Drawer title={t('Send a test event')} onClose={onClose}>
      {reason ? <p className="notice warn">{reason}</p> : <Form id={id} />}
    </Drawer>
  )
}

/** The id is that of the form, so that an event is sent once, however often it is clicked. */
const newId = () => `console-${crypto.randomUUID()}`

function Form({ id }: { id: string }) {
  const names = useId()
  const now = useNow()
  const { data: catalogue } = useRead('v4ListEventCatalogue')
  const { send, isPending, error } = useWrite('v4CreateEvents', CHANGES)
  const [eventId, setEventId] = useState(newId)
  const [name, setName] = useState('')
  const [product, setProduct] = useState('')
  const happened = now === undefined ? undefined : new Date(now).toISOString().replace(/\.\d+/, '')
  const event = {
    event_id: eventId,
    event_name: name,
    customer_uid: id,
    happened_at: happened ?? '',
    ...(product !== '' && { product_id: product }),
  }
  const submit = async () => {
    try {
      await send({ body: { events: [event] } })
      say(t('{name} is sent', { name }))
      setEventId(newId())
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <form
      className="form"
      onSubmit={submitted => {
        submitted.preventDefault()
        void submit()
      }}
    >
      <p className="soft">
        {t('Automations start and integrations get it, as with a true one. It happens now, by the clock of the sandbox.')}
      </p>
      <TextInput
        label={t('Event')}
        list={names}
        required
        autoComplete="off"
        spellCheck={false}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value.trim())}
      />
      <datalist id={names}>
        {catalogue?.data.map(({ event_name, title }) => (
          <option key={event_name} value={event_name}>
            {title}
          </option>
        ))}
      </datalist>
      <TextInput
        label={t('Product of the store, if it has one')}
        autoComplete="off"
        value={product}
        onChange={({ currentTarget }) => setProduct(currentTarget.value.trim())}
      />
      {error && <Fault error={error} />}
      <div className="form-actions">
        <ShowTheCall name="v4CreateEvents" input={{ body: { events: [event] } }} />
        <Send size="xs" loading={isPending} disabled={name === '' || now === undefined}>
          {t('Send')}
        </Send>
      </div>
    </form>
  )
}
