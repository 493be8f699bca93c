import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { REVEAL, ShownOnce } from '../../parts/shown-once.tsx'
import { t } from '../../parts/t.ts'

/** What cannot be undone asks for the name of the project. */
export default function RotateSecret({ name, onClose }: { name: string; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [address, setAddress] = useState<string>()
  const [done, setDone] = useState(false)
  const { send, isPending, error } = useWrite('v4RegenerateProjectSecret', {
    changes: ['v4GetProjectSettings', 'v4ListAuditLog'],
    heard: headers => setAddress(headers.get(REVEAL) ?? undefined),
  })
  return (
    <Modal opened onClose={onClose} title={t('Replace the Secret Key')} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
      {done ? (
        <ShownOnce address={address} says={t('There is a new Secret Key. The former one soon opens nothing any more.')} onClose={onClose} />
      ) : (
        <form
          className="form"
          onSubmit={event => {
            event.preventDefault()
            if (typed.trim() === name)
              void send({}).then(
                answer => answer && setDone(true),
                () => {},
              )
          }}
        >
          <p>
            {t(
              'Every server with the present key, of production and of the sandbox, is refused from then on. Named keys stay as they are. This cannot be undone.',
            )}
          </p>
          <TextInput
            label={t('Type the name of the project: {name}', { name })}
            value={typed}
            data-autofocus
            autoComplete="off"
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          {error && <Fault error={error} />}
          <div className="form-actions">
            <Button variant="default" size="xs" onClick={onClose}>
              {t('Cancel')}
            </Button>
            <Send size="xs" className="button-danger" loading={isPending} disabled={typed.trim() !== name}>
              {t('Replace it')}
            </Send>
          </div>
        </form>
      )}
    </Modal>
  )
}
