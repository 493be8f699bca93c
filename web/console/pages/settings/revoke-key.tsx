import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ApiKey } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { say } from '../../parts/undo.tsx'

export function RevokeKey({ of: key, onClose }: { of: ApiKey; onClose: (done: boolean) => void }) {
  const [typed, setTyped] = useState('')
  const { send, isPending, error } = useWrite('v4RevokeApiKey', { changes: ['v4ListApiKeys', 'v4ListAuditLog'] })
  const revoke = async () => {
    await send({ path: { key_id: key.id } })
    say(t('The key is revoked'))
    onClose(true)
  }
  return (
    <Modal
      opened
      onClose={() => onClose(false)}
      title={t('Revoke {name}', { name: key.name })}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          if (typed.trim() === key.last_four) void revoke().catch(() => {})
        }}
      >
        <p>{t('The key opens nothing any more, from the next request on. Keys that it has made go on. This cannot be undone.')}</p>
        <TextInput
          label={t('Type the last four characters of the key: {last}', { last: key.last_four })}
          value={typed}
          data-autofocus
          autoComplete="off"
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <Button variant="default" size="xs" onClick={() => onClose(false)}>
            {t('Cancel')}
          </Button>
          <Send size="xs" className="button-danger" loading={isPending} disabled={typed.trim() !== key.last_four}>
            {t('Revoke')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
