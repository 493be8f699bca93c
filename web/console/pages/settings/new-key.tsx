import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Scope } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { REVEAL, ShownOnce } from '../../parts/shown-once.tsx'
import { t } from '../../parts/t.ts'
import { Scopes } from './scopes.tsx'

const split = (text: string) => text.split(/[\s,]+/).filter(Boolean)

export function NewKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly Scope[]>([])
  const [expires, setExpires] = useState('')
  const [addresses, setAddresses] = useState('')
  const [address, setAddress] = useState<string>()
  const [done, setDone] = useState(false)
  const { send, isPending, error } = useWrite('v4CreateApiKey', {
    changes: ['v4ListApiKeys', 'v4ListAuditLog'],
    heard: headers => setAddress(headers.get(REVEAL) ?? undefined),
  })
  const body: Input<'v4CreateApiKey'>['body'] = {
    name: name.trim(),
    scopes: [...scopes],
    // A day of the calendar begins in UTC, as it does for the command line.
    ...(expires !== '' && { expires_at: `${expires}T00:00:00Z` }),
    ...(split(addresses).length > 0 && { allowed_addresses: split(addresses) }),
  }
  const faultOf = (field: string) => error?.details.find(detail => detail.field === field || detail.field?.startsWith(`${field}.`))?.message
  return (
    <Modal opened onClose={onClose} title={t('New key')} size={520} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      {done ? (
        <ShownOnce address={address} says={t('The key {name} is made.', { name: body.name })} onClose={onClose} />
      ) : (
        <form
          className="form"
          onSubmit={event => {
            event.preventDefault()
            if (scopes.length > 0)
              void send({ body }).then(
                answer => answer && setDone(true),
                () => {},
              )
          }}
        >
          <TextInput
            label={t('Name')}
            description={t('The program that has it')}
            value={name}
            required
            maxLength={255}
            data-autofocus
            error={faultOf('name')}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Scopes chosen={scopes} onChange={setScopes} />
          <TextInput
            type="date"
            label={t('Works until the beginning of this day, in UTC')}
            description={t('Empty: until it is revoked')}
            value={expires}
            error={faultOf('expires_at')}
            onChange={({ currentTarget }) => setExpires(currentTarget.value)}
          />
          <TextInput
            label={t('Addresses and networks from which it works')}
            description={t('Separated by commas; empty: from everywhere')}
            placeholder="203.0.113.0/24"
            value={addresses}
            error={faultOf('allowed_addresses')}
            onChange={({ currentTarget }) => setAddresses(currentTarget.value)}
          />
          {error && <Fault error={error} />}
          <div className="form-actions">
            <ShowTheCall name="v4CreateApiKey" input={{ body }} />
            <Button variant="default" size="xs" onClick={onClose}>
              {t('Cancel')}
            </Button>
            <Send size="xs" loading={isPending} disabled={scopes.length === 0 || name.trim() === ''}>
              {t('Make the key')}
            </Send>
          </div>
        </form>
      )}
    </Modal>
  )
}
