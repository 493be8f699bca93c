import { Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { Send } from '../../parts/send.tsx'
import { t } from '../../parts/t.ts'

/** The window of a form: what it is, its fields, and the buttons. */
export const FormFrame = ({
  title,
  save,
  isPending,
  ready,
  call,
  onSave,
  onClose,
  children,
}: {
  title: string
  save: string
  isPending: boolean
  ready: boolean
  call: ReactNode
  onSave: () => Promise<void>
  onClose: () => void
  children: ReactNode
}) => (
  <Modal opened size={560} onClose={onClose} title={title} lockScroll={false} closeButtonProps={{ 'aria-label': t('Close') }}>
    <form
      className="form catalogue-form"
      onSubmit={event => {
        event.preventDefault()
        if (ready) void onSave()
      }}
    >
      {children}
      <div className="form-actions">
        {call}
        <Button variant="default" size="xs" onClick={onClose}>
          {t('Cancel')}
        </Button>
        <Send size="xs" loading={isPending} disabled={!ready}>
          {save}
        </Send>
      </div>
    </form>
  </Modal>
)
