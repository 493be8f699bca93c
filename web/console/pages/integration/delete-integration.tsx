import { Button, Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Integration } from '../../../../clients/typescript/src/index.ts'
import { useDryRun } from '../../data/dry-run.ts'
import { useWrite } from '../../data/write.ts'
import { Copy } from '../../parts/copy.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { heldText } from '../integrations/words.ts'

/** Ends the integration for good, after its id is typed. What names it still is told by the service before. */
export default function DeleteIntegration({ of: { id, title, held }, onClose }: { of: Integration; onClose: () => void }) {
  const go = useGo()
  const [typed, setTyped] = useState('')
  const input = { path: { integration_id: id } }
  const plan = useDryRun('v4DeleteIntegration', input)
  const { send, isPending, error } = useWrite('v4DeleteIntegration', { changes: ['v4ListIntegrations'] })
  const remove = async () => {
    if (typed !== id) return
    await send(input)
    say(t('{title} is deleted', { title }))
    go({ to: '/integrations' })
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('Delete {title}', { title })}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      <form
        className="form"
        onSubmit={event => {
          event.preventDefault()
          void remove().catch(() => {})
        }}
      >
        <p>
          {t('Nothing goes there any more, and its deliveries can be read no longer. This cannot be undone.')}{' '}
          {held > 0 && <strong>{t('{n} held deliveries fail.', { n: heldText(held) })}</strong>}
        </p>
        {plan.error && <Fault error={plan.error} retry={plan.refetch} />}
        <div>
          <p className="form-label">{t('Type the id to delete it')}</p>
          <Copy text={id} />
        </div>
        <TextInput
          aria-label={t('Id of the integration')}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
        {error && <Fault error={error} />}
        <div className="form-actions">
          <Button variant="default" size="xs" onClick={onClose}>
            {t('Cancel')}
          </Button>
          <Send size="xs" className="button-danger" loading={isPending} disabled={typed !== id || plan.data === undefined}>
            {t('Delete it')}
          </Send>
        </div>
      </form>
    </Modal>
  )
}
