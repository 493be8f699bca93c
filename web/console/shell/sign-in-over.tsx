import { Button, Modal } from '@mantine/core'
import { SIGN_IN, useSession, useSignedOut } from '../data/session.ts'
import { Icon } from '../parts/icon.tsx'
import { t } from '../parts/t.ts'

/**
 * Over the page when the session has ended: the page and what was typed into it stay. One signs in in another tab; coming back asks for the
 * session again, and the page goes on.
 */
export default function SignInOver() {
  const { data } = useSession()
  const { refetch, isFetching } = useSignedOut()
  return (
    <Modal
      opened
      onClose={() => void refetch()}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      lockScroll={false}
      centered
      title={t('Sign in')}
    >
      <p className="sign-in-text">
        {data ? t('Your session has ended. This page and what you typed stay as they are.') : t('Sign in to see this page.')}
      </p>
      <div className="sign-in-actions">
        <Button component="a" href={SIGN_IN} target="_blank" rel="opener" leftSection={<Icon name="key" size={14} />} data-autofocus>
          {t('Sign in')}
        </Button>
        <Button variant="default" loading={isFetching} onClick={() => void refetch()}>
          {t('I have signed in')}
        </Button>
      </div>
    </Modal>
  )
}
