import { Button, Checkbox, Modal, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAddress } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

type Body = Input<'v4CreateEvents'>['body']
type Properties = NonNullable<Body['events'][number]['properties']>

/** Posts one event, as an app or a server would. In production it counts, so it acts only when one says so. */
export default function PostEvent({ onClose }: { onClose: () => void }) {
  const sandbox = usePlace()?.environment === 'sandbox'
  const clock = useRead('v4GetTestClock', {}, { when: sandbox })
  const [, set] = useAddress()
  const [name, setName] = useState('test_event')
  const [person, setPerson] = useState('test-person')
  const [text, setText] = useState('{\n  "source": "console"\n}')
  const [acts, setActs] = useState(sandbox)
  const [own] = useState(() => `console-${crypto.randomUUID()}`)
  const { send, isPending, error } = useWrite('v4CreateEvents', { changes: ['v4ListEvents', 'v4ListEventCatalogue'] })
  const properties = propertiesOf(text)
  const body = (): Body => ({
    events: [
      {
        event_id: own,
        event_name: name.trim(),
        ...(person.trim().startsWith('QON_') ? { customer_uid: person.trim() } : { identity_id: person.trim() }),
        happened_at: clock.data ? clock.data.now : new Date().toISOString(),
        ...(properties && Object.keys(properties).length > 0 && { properties }),
      },
    ],
    trigger: acts,
  })
  const post = async () => {
    const answer = await send({ body: body() })
    const id = answer?.results[0]?.id
    if (!id) return
    say(t('The event is posted'))
    onClose()
    set({ at: id }, { push: true })
  }
  const faultOf = (field: string) => error?.details.find(detail => detail.field?.startsWith(`events[0].${field}`))?.message
  const waits = sandbox && clock.data === undefined
  return (
    <Modal opened onClose={onClose} title={t('Post a test event')} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          if (properties !== undefined && !waits) void post().catch(() => {})
        }}
      >
        {!sandbox && (
          <div className="post-warning">
            <Icon name="warn" />
            <p>
              {t('This is production: the event stays in the log, and one of the catalogue counts in figures. The sandbox is for trying.')}
            </p>
          </div>
        )}
        <TextInput
          label={t('Name')}
          description={t('One of the catalogue, or your own: lower-case letters, digits, _ . and -')}
          value={name}
          error={faultOf('event_name')}
          maxLength={100}
          required
          data-autofocus
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          label={t('Person')}
          description={t('Your own id of the person, or an id that begins with QON_; an unknown one of yours makes a new person')}
          value={person}
          error={faultOf('identity_id') ?? faultOf('customer_uid')}
          maxLength={255}
          required
          onChange={({ currentTarget }) => setPerson(currentTarget.value)}
        />
        <Textarea
          label={t('Properties, as JSON')}
          value={text}
          rows={4}
          classNames={{ input: 'code-input' }}
          spellCheck={false}
          error={properties === undefined ? t('This is no object of texts, numbers, true and false.') : faultOf('properties')}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Checkbox
          label={t('It starts automations and goes to integrations')}
          checked={acts}
          onChange={({ currentTarget }) => setActs(currentTarget.checked)}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <ShowTheCall name="v4CreateEvents" input={{ body: body() }} />
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" loading={isPending} disabled={properties === undefined || waits}>
            {sandbox ? t('Post') : t('Post to production')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}

/** Undefined for what is no JSON object of plain values. */
function propertiesOf(text: string): Properties | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const isPlain = Object.values(value).every(one => ['string', 'number', 'boolean'].includes(typeof one))
    return isPlain ? (value as Properties) : undefined
  } catch {
    return undefined
  }
}
